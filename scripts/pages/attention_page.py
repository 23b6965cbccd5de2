"""Uses the page of attention maps."""

from pages.checks import check_readable, equal, expect, is_dark, luminance, tab_to, text


def shown_weight(line):
    return float(line.rsplit(" ", 1)[1])


def expect_cell(browser, where, maps, layer, head, query, key):
    """The text at `where` names this cell and its weight."""
    line = text(browser, where)
    expect(line.startswith(f"query {query} “") and f"→ key {key} “" in line, f"{where}: {line} is not of {query}, {key}")
    chosen = maps["maps"][layer]
    for kind, place in (("queries", query), ("keys", key)):
        token = maps["sequences"][chosen[kind]][place]
        expect(f"“{token}”" in line, f"{where}: {line} does not name {token}")
    if head == "mean":
        weight = sum(chosen["weights"][h][query][key] for h in range(chosen["heads"])) / chosen["heads"]
    else:
        weight = chosen["weights"][head][query][key]
    # Four digits are shown, of 16-bit fractions.
    expect(abs(shown_weight(line) - weight) < 1e-4, f"{where}: {line}, the weight is {weight}")


def place_of(browser, query, key):
    """The middle of a cell of the heat map in the window."""
    return browser.evaluate(
        "(() => { document.getElementById('map').scrollIntoView({block: 'nearest'});"
        "const box = document.getElementById('cells').getBoundingClientRect();"
        f"return [box.left + layout.left + ({key} + 0.5) * layout.cell, box.top + layout.top + ({query} + 0.5) * layout.cell]; }})()")


def colour_of(browser, query, key):
    return browser.evaluate(
        "(() => { const r = devicePixelRatio; const context = document.getElementById('cells').getContext('2d');"
        f"const p = context.getImageData((layout.left + ({key} + 0.5) * layout.cell) * r,"
        f"(layout.top + ({query} + 0.5) * layout.cell) * r, 1, 1).data;"
        "return `rgb(${p[0]}, ${p[1]}, ${p[2]})`; })()")


def check_attention(browser, maps):
    first = maps["maps"][0]
    check_readable(browser, ["h1", "#about", "#readout", "#map-help"])
    equal("layers to choose from", browser.evaluate("document.getElementById('layer').length"), len(maps["maps"]))
    equal("heads to choose from", browser.evaluate("document.getElementById('head').length"), first["heads"] + 1)
    check_mouse(browser, maps)
    if first["kind"] == "causal":
        check_colours(browser)
    check_keyboard(browser, maps)
    check_overview(browser, maps)


def check_mouse(browser, maps):
    browser.mouse(*place_of(browser, 3, 1))
    expect_cell(browser, "#tip", maps, 0, 0, 3, 1)
    equal("the tip is shown", browser.evaluate("document.getElementById('tip').hidden"), False)
    browser.mouse(2, 2)
    equal("the tip is gone", browser.evaluate("document.getElementById('tip').hidden"), True)
    browser.mouse(*place_of(browser, 4, 2), click=True)
    expect_cell(browser, "#readout", maps, 0, 0, 4, 2)


def check_colours(browser):
    """The first token of a causal map attends to itself alone: weight 1 beside weight 0."""
    largest, least = (luminance(colour_of(browser, 0, key)) for key in (0, 1))
    expect(abs(largest - least) > 0.5, f"weights 1 and 0 look alike: {largest:.2f}, {least:.2f}")
    expect((largest > least) == is_dark(browser), "large weights stand out from the page")


def check_keyboard(browser, maps):
    heads = maps["maps"][0]["heads"]
    browser.evaluate("document.activeElement.blur()")
    tab_to(browser, "#layer")
    browser.press("ArrowDown")
    expect(text(browser, "#map-title").startswith(maps["maps"][1]["layer"]), "the arrow key chooses the next layer")
    browser.press("Tab")
    browser.press("ArrowDown", heads)
    expect_cell(browser, "#readout", maps, 1, "mean", 4, 2)
    browser.press("ArrowUp")
    expect_cell(browser, "#readout", maps, 1, heads - 1, 4, 2)
    browser.press("Tab")
    browser.press(" ")
    equal("full colour without a scale of its own", text(browser, "#scale"), "Full colour: 1.0000")
    browser.press(" ")
    largest = max(weight for row in maps["maps"][1]["weights"][heads - 1] for weight in row)
    expect(abs(shown_weight(text(browser, "#scale")) - largest) < 1e-4, f"full colour is not {largest}")
    tab_to(browser, "#map")
    browser.press("ArrowUp", 2)
    browser.press("ArrowLeft")
    expect_cell(browser, "#readout", maps, 1, heads - 1, 2, 1)
    browser.press("Home")
    expect_cell(browser, "#readout", maps, 1, heads - 1, 2, 0)
    browser.press("PageDown")
    browser.press("End")
    last = len(maps["sequences"][maps["maps"][1]["queries"]]) - 1
    expect_cell(browser, "#readout", maps, 1, heads - 1, last, last)
    strongest = browser.evaluate("[...document.querySelectorAll('#strongest li')].map((item) => item.textContent)")
    row = maps["maps"][1]["weights"][heads - 1][last]
    expect(abs(shown_weight(strongest[0]) - max(row)) < 1e-4, f"the strongest key of {row} is not {strongest[0]}")


def check_overview(browser, maps):
    heads = maps["maps"][0]["heads"]
    tab_to(browser, "[role=gridcell]")
    browser.press("ArrowUp")
    equal("title", text(browser, "#map-title"), f"{maps['maps'][0]['layer']}, head {heads - 1}")
    browser.press("Home")
    equal("title", text(browser, "#map-title"), f"{maps['maps'][0]['layer']}, head 0")
    browser.press("ArrowRight")
    equal("title", text(browser, "#map-title"), f"{maps['maps'][0]['layer']}, head 1")
    equal("the chosen cell", browser.evaluate("document.querySelector('[aria-selected=true]').ariaLabel"),
          f"{maps['maps'][0]['layer']}, head 1")
    browser.wait("[...document.querySelectorAll('#overview canvas')].every((canvas) => canvas.width === 88)")
    distinct = browser.evaluate(
        "new Set([...document.querySelectorAll('#overview canvas')].map((canvas) => canvas.toDataURL())).size")
    expect(distinct > len(maps["maps"]), f"the overview shows {distinct} different pictures")
    last = len(maps["maps"]) - 1
    box = browser.evaluate(
        "(() => { const cell = document.querySelector(`[role=gridcell][data-layer=\"" + str(last) + "\"]`);"
        "cell.scrollIntoView({block: 'nearest'}); const box = cell.getBoundingClientRect();"
        "return [box.left + box.width / 2, box.top + box.height / 2]; })()")
    browser.mouse(*box, click=True)
    equal("title", text(browser, "#map-title"), f"{maps['maps'][last]['layer']}, head 0")
    browser.mouse(*place_of(browser, 2, 0))
    expect_cell(browser, "#tip", maps, last, 0, 2, 0)
