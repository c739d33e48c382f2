"""The report page in a real Chromium, light and dark, on a phone, a desktop and between; it has no scripts.

The page itself is never changed: a second page shows it in frames of all widths and measures it there.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from parity_tests import report_sample as sample
from parity_tests.test_trials_change import sample_change
from scorer.report import Report
from scorer.report.change import change_page
from scorer.report.flame import flame_page
from scorer.report.html import trial_page
from scorer.report.kernels import kernels_page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed (apt-get install chromium)")

WIDTHS = (390, 760, 1280)  # phone, the narrowest that shows tables as such, desktop
SCHEMES = {"dark": 0, "light": 1}  # Chromium's numbers
MEASURE = """
<!DOCTYPE html><meta charset="utf-8"><body style="margin: 0">FRAMES<pre id="said"></pre><script>
const luminance = rgb => rgb.map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const numbers = text => text.match(/[\\d.]+/g).map(Number);
const view = element => element.ownerDocument.defaultView;
function behind(element) {
  for (let at = element; at; at = at.parentElement) {
    const [r, g, b, a = 1] = numbers(view(at).getComputedStyle(at).backgroundColor);
    if (a === 1) return [r, g, b];
    if (a > 0) throw new Error("a background that is half seen through");
  }
  return [255, 255, 255];
}
const scrolls = element => element.closest(".source");  // panels could too, and should not have to
function measure(frame) {
  const page = frame.contentDocument, root = page.documentElement, texts = [];
  for (const details of page.querySelectorAll("details")) details.open = true;
  const outside = [...page.body.querySelectorAll("*")].filter(element => {
    const box = element.getBoundingClientRect();
    return box.width && box.right > frame.clientWidth + .5 && !scrolls(element);
  }).map(element => element.outerHTML.slice(0, 80));
  const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    const box = element.getBoundingClientRect();
    if (!text || box.width < 2 || box.height < 2 || element.closest("style, caption")) continue;
    const style = view(element).getComputedStyle(element);
    const inks = element.closest("svg") ? style.fill : style.color;
    if (inks === "none") continue;
    const [one, other] = [luminance(numbers(inks).slice(0, 3)), luminance(behind(element))];
    const contrast = (Math.max(one, other) + .05) / (Math.min(one, other) + .05);
    texts.push({text: text.slice(0, 40), contrast, size: parseFloat(style.fontSize)});
  }
  const shown = selector => page.querySelector(selector)?.getBoundingClientRect().width > 0;
  const background = view(page.body).getComputedStyle(page.body).backgroundColor;
  return {scroll: root.scrollWidth, height: root.scrollHeight, outside, texts, background,
    wide: shown(".plot .wide"), narrow: shown(".plot .narrow"), heads: shown("thead")};
}
addEventListener("load", () => {
  const found = {};
  for (const frame of document.querySelectorAll("iframe")) {
    const at = frame.contentDocument.querySelector(".sides");
    if (at) frame.contentWindow.location.hash = at.id;
    const opened = at?.closest("details").open;
    found[frame.clientWidth] = {opened, ...measure(frame)};
  }
  document.getElementById("said").textContent = JSON.stringify(found);
});
</script>
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Any]:
    """What was measured, by scheme and width, of a failing page, which has everything that a page can have."""
    directory = tmp_path_factory.mktemp("browser")
    write(directory)
    return {(scheme, int(width)): found for scheme in SCHEMES for width, found in measure(directory, scheme).items()}


def write(directory: Path) -> None:
    artifact, profile = sample.sample_artifact(), sample.sample_profile()
    (directory / "recipe").mkdir()
    (directory / "recipe" / "model.py").write_text("\n".join(f"line_{n} = 'x' * {n}{' ' * n}# end" for n in range(99)))
    Report(sample.failing(), sample.sample_receipts(norm_runs=False), artifact, profile, recipe=directory).write(
        directory
    )


def measure(directory: Path, scheme: str, page: str = "report.html") -> dict[str, Any]:
    frames = "".join(f'<iframe src="{page}" style="width: {w}px; height: 900px; border: 0"></iframe>' for w in WIDTHS)
    (directory / "measure.html").write_text(MEASURE.replace("FRAMES", frames), "utf-8")
    assert CHROMIUM is not None
    words = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
        "--allow-file-access-from-files", f"--user-data-dir={directory / f'chromium-{scheme}'}",
        f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}", "--window-size=2600,1000", "--dump-dom",
        (directory / "measure.html").as_uri(),
    ]  # fmt: skip
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    said = re.search(r'<pre id="said">(.+?)</pre>', ran.stdout, re.DOTALL)
    assert said is not None, ran.stderr[-2000:]
    found: dict[str, Any] = json.loads(html.unescape(said[1]))
    return found


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_page_does_not_scroll_sideways_and_nothing_is_cut_off(
    scheme: str, width: int, shown: dict[tuple[str, int], Any]
) -> None:
    found = shown[scheme, width]
    assert found["scroll"] == width
    assert found["outside"] == []
    assert found["height"] > 2000  # it was laid out


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_text_can_be_read(scheme: str, width: int, shown: dict[tuple[str, int], Any]) -> None:
    texts = shown[scheme, width]["texts"]
    assert len(texts) > 200
    assert [text for text in texts if text["contrast"] < 4.5] == []
    assert [text for text in texts if text["size"] < 9.5] == []


def test_a_phone_has_its_own_chart_and_lists_for_tables(shown: dict[tuple[str, int], Any]) -> None:
    for scheme in SCHEMES:
        phone, desktop = (shown[scheme, width] for width in (390, 1280))
        assert (phone["narrow"], phone["wide"], phone["heads"]) == (True, False, False)
        assert (desktop["narrow"], desktop["wide"], desktop["heads"]) == (False, True, True)


def test_light_and_dark_are_two_pages(shown: dict[tuple[str, int], Any]) -> None:
    light, dark = (re.findall(r"\d+", shown[scheme, 1280]["background"]) for scheme in ("light", "dark"))
    assert min(map(int, light)) > 200
    assert max(map(int, dark)) < 60


def test_the_link_of_a_line_opens_its_sources(shown: dict[tuple[str, int], Any]) -> None:
    assert all(found["opened"] for found in shown.values())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_page_of_a_trial_fits_and_can_be_read(scheme: str, tmp_path: Path) -> None:
    (tmp_path / "trial.html").write_text(trial_page(sample.sample_trial()), "utf-8")
    for width, found in measure(tmp_path, scheme, "trial.html").items():
        assert (found["scroll"], found["outside"]) == (int(width), [])
        assert found["height"] > 900
        assert len(found["texts"]) >= 40
        assert [text for text in found["texts"] if text["contrast"] < 4.5 or text["size"] < 9.5] == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_page_of_a_change_fits_and_can_be_read(scheme: str, tmp_path: Path) -> None:
    """Both curves are there at every width, each once: a phone's or a desktop's."""
    (tmp_path / "change.html").write_text(change_page(sample_change()), "utf-8")
    for width, found in measure(tmp_path, scheme, "change.html").items():
        assert (found["scroll"], found["outside"]) == (int(width), [])
        assert (found["wide"], found["narrow"]) == (int(width) > 390, int(width) == 390)
        assert found["height"] > 900
        assert len(found["texts"]) >= 40
        assert [text for text in found["texts"] if text["contrast"] < 4.5 or text["size"] < 9.5] == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_page_of_the_kernels_fits_and_can_be_read(scheme: str, tmp_path: Path) -> None:
    (tmp_path / "kernels.html").write_text(kernels_page(sample.sample_kernels()), "utf-8")
    for width, found in measure(tmp_path, scheme, "kernels.html").items():
        assert (found["scroll"], found["outside"]) == (int(width), [])
        assert found["height"] > 900
        assert len(found["texts"]) >= 40
        assert [text for text in found["texts"] if text["contrast"] < 4.5 or text["size"] < 9.5] == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_page_of_an_update_fits_and_can_be_read(scheme: str, tmp_path: Path) -> None:
    (tmp_path / "profile.html").write_text(flame_page(sample.sample_flame()), "utf-8")
    for width, found in measure(tmp_path, scheme, "profile.html").items():
        assert (found["scroll"], found["outside"]) == (int(width), [])
        assert found["height"] > 900
        assert len(found["texts"]) >= 40
        assert [text for text in found["texts"] if text["contrast"] < 4.5 or text["size"] < 9.5] == []


def test_a_page_that_is_too_wide_and_too_pale_is_found(tmp_path: Path) -> None:
    write(tmp_path)
    page = (tmp_path / "report.html").read_text("utf-8")
    spoilt = page.replace("</style>", ".lede { width: 80rem; } .legend { color: #bbb !important; }</style>")
    (tmp_path / "report.html").write_text(spoilt, "utf-8")
    found = measure(tmp_path, "light")["390"]
    assert found["scroll"] > 390
    assert found["outside"]
    assert {"bit-equal", "different"} <= {text["text"] for text in found["texts"] if text["contrast"] < 4.5}
