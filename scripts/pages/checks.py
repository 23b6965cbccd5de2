"""What the checks of all pages share."""


class CheckError(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise CheckError(message)


def equal(what, got, wanted):
    expect(got == wanted, f"{what}: expected {wanted!r}, got {got!r}")


def channel(value):
    value /= 255
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def luminance(colour):
    """Relative luminance (WCAG 2) of "rgb(r, g, b)"."""
    red, green, blue = (channel(float(part)) for part in colour.split("(")[1].rstrip(")").split(",")[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def is_dark(browser):
    return browser.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")


def check_readable(browser, selectors):
    """Text stands out from the page by at least 4.5 : 1, and a dark page is dark."""
    style = "getComputedStyle(document.{}).{}"
    page = luminance(browser.evaluate(style.format("body", "backgroundColor")))
    expect(page < 0.1 if is_dark(browser) else page > 0.8, f"the page's luminance is {page:.2f}")
    for selector in selectors:
        ink = luminance(browser.evaluate(style.format(f"querySelector('{selector}')", "color")))
        contrast = (max(ink, page) + 0.05) / (min(ink, page) + 0.05)
        expect(contrast >= 4.5, f"{selector} has a contrast of {contrast:.1f}")


def tab_to(browser, selector, most=30):
    """Moves the focus by the Tab key until the element has it, and sees that this shows."""
    for _ in range(most):
        browser.press("Tab")
        if browser.evaluate(f"document.activeElement.matches('{selector}')"):
            outline = browser.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            expect(outline != "none", f"{selector} has the focus and does not show it")
            return
    raise CheckError(f"{most} presses of Tab do not lead to {selector}")


def text(browser, selector):
    return browser.evaluate(f"document.querySelector('{selector}').textContent")
