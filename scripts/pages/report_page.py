"""Uses the report of a run."""

import re

from pages.checks import check_readable, equal, expect, tab_to, text

# Figures of an evaluation that say how much was evaluated, and the loss, which is drawn with that of training.
NOT_DRAWN = ("loss", "tokens", "starts", "sequences")
FIRST_VALUES = "#chart-0-values"


def values_shown(browser):
    """The values under the first chart: {series: (value, step)}."""
    line = text(browser, FIRST_VALUES)
    found = re.findall(r"(training|validation) ([\d.e+-]+) at step (\d+)", line)
    return {name: (float(value), int(step)) for name, value, step in found}


def expect_close(what, got, wanted):
    # Four digits are shown.
    expect(abs(got - wanted) <= 6e-4 * abs(wanted), f"{what}: expected {wanted}, got {got}")


def path_of(browser):
    return browser.evaluate("document.querySelector('.chart .series').getAttribute('d')")


def check_report(browser, metrics, recipe):
    losses = {line["step"]: line["loss"] for line in metrics if "loss" in line}
    valid = {line["step"]: line["valid"]["loss"] for line in metrics if "valid" in line}
    check_readable(browser, ["h1", "#updated", "#recipe", "figcaption"])
    equal("status", text(browser, "#status"), "finished")
    equal("recipe", text(browser, "#recipe"), recipe)
    titles = browser.evaluate("[...document.querySelectorAll('figcaption')].map((caption) => caption.textContent)")
    figures = [name for line in metrics if "valid" in line for name in line["valid"] if name not in NOT_DRAWN]
    for title in ["Loss", "Learning rate", "Gradient norm", "Throughput", *(name.replace("_", " ") for name in figures)]:
        expect(any(title in found for found in titles), f"there is no chart of {title}, only {titles}")
    check_keyboard(browser, losses, valid)
    check_mouse(browser, losses)
    check_samples(browser, metrics)


def check_keyboard(browser, losses, valid):
    last = max(losses)
    shown = values_shown(browser)
    equal("steps shown at first", {step for _, step in shown.values()}, {last})
    expect_close("training loss", shown["training"][0], losses[last])
    expect_close("validation loss", shown["validation"][0], valid[last])
    tab_to(browser, "#logarithmic")
    linear = path_of(browser)
    browser.press(" ")
    expect(path_of(browser) != linear, "the space bar does not change the scale")
    tab_to(browser, ".chart")
    browser.press("ArrowLeft", 2)
    value, step = values_shown(browser)["training"]
    equal("step after two arrow keys", step, last - 2)
    expect_close("training loss", value, losses[step])
    browser.press("Home")
    equal("first step", values_shown(browser)["training"][1], min(losses))


def check_mouse(browser, losses):
    box = browser.evaluate(
        "(() => { const chart = document.querySelector('.chart'); chart.scrollIntoView({block: 'nearest'});"
        "const box = chart.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; })()")
    browser.mouse(box[0] + 0.5 * box[2], box[1] + 0.5 * box[3])
    value, step = values_shown(browser)["training"]
    expect(0.3 * max(losses) < step < 0.7 * max(losses), f"the middle of the chart is step {step}")
    expect_close("training loss", value, losses[step])
    equal("the line at the pointer", browser.evaluate("document.querySelector('.chart .cursor').getAttribute('visibility')"),
          "visible")


def check_samples(browser, metrics):
    sets = [line for line in metrics if "samples" in line]
    rows = "[...document.querySelectorAll('#samples tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"

    def wanted(samples):
        return [[sample[key] for key in ("input", "output", "expected")] for sample in samples["samples"]]

    equal("the last samples", browser.evaluate(rows), wanted(sets[-1]))
    tab_to(browser, "#sample-step")
    browser.press("ArrowUp", len(sets) - 1)
    equal("the first samples", browser.evaluate(rows), wanted(sets[0]))
