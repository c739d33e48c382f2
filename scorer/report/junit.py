"""`junit.xml`: one test case per finding code, grouped into one suite per family, for CI systems.

A code that a hard finding was raised for fails; one with advice alone passes and carries the advice as output. An
inconclusive verdict adds an error, so that no CI takes it for a pass.
"""

from __future__ import annotations

from junitparser import Error, Failure, JUnitXml, TestCase, TestSuite
from junitparser.junitparser import FinalResult

from scorer.findings import CODES, FAMILIES
from scorer.report.codes import every_code
from scorer.report.sections.findings import FindingView
from scorer.report.view import View


def junit_xml(view: View) -> str:
    """Render the findings as JUnit XML that ends with a newline."""
    codes = every_code()
    document = JUnitXml("submission parity")
    for family in sorted({code[:3] for code in codes}):
        suite = TestSuite(f"{family} {FAMILIES[family]}")
        for code in sorted(code for code in codes if code.startswith(family)):
            suite.add_testcase(_case(code, [found for found in view.findings if found.code == code]))
        document.add_testsuite(suite)
    if view.verdict == "inconclusive":
        suite = TestSuite("verdict")
        case = TestCase("the evidence decides", "verdict")
        case.result = [Error(view.reason, "inconclusive")]
        suite.add_testcase(case)
        document.add_testsuite(suite)
    document.update_statistics()  # type: ignore[no-untyped-call]
    text: str = document.tostring().decode()  # type: ignore[no-untyped-call]
    return text.rstrip("\n") + "\n"


def _case(code: str, found: list[FindingView]) -> TestCase:
    case = TestCase(f"{code} {CODES[code].title}", code[:3])
    failures: list[FinalResult] = []
    for finding in found:
        if not finding.hard:
            continue
        failure = Failure(finding.message, code)
        failure.text = _text(finding)
        failures.append(failure)
    case.result = failures
    advice = [_text(finding) for finding in found if not finding.hard]
    if advice:
        case.system_out = "\n\n".join(advice)
    return case


def _text(finding: FindingView) -> str:
    where = ", ".join(part for part in (finding.place, finding.where) if part)
    evidence = "\n".join(f"  {name}: {value}" for name, value in finding.evidence)
    lines = [f"{where}: {finding.message}" if where else finding.message, evidence, finding.why, finding.remedy]
    return "\n".join(line for line in lines if line)
