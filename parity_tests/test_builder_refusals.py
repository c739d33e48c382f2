"""What the builder refuses is one table: each code is raised, shown by a case, and told in the README; each fault row
that concerns the builder is named by a case.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from builder.errors import CODES, table
from parity_tests.test_builder_cases import CASES, NAMES

ROOT = Path(__file__).parents[1]
# Codes that no recipe can show: a test of their own does.
ELSEWHERE = {"BLD045": "test_builder_proof.py", "BLD047": "test_builder_trace.py"}
# The faults of practice that a builder can have or prevent, and the cases that hold their kinds.
FAULTS = {
    "B1 future imports in mid-file": ["future_import_in_one_module", "future_import_everywhere", "string_annotations"],
    "B2 relative imports in the entry": ["relative_imports_in_entry", "relative_import_out_of_the_package"],
    "B3 the package imported from disk": ["mixed_imports", "imports_by_name", "strings_that_name_modules"],
    "B4 an import in `try` skipped": ["unresolved_import_in_try", "unresolved_imports_everywhere", "optional_import"],
    "B5 line ends mixed": ["line_ends_mixed", "byte_order_mark_tabs_and_form_feeds", "declared_encoding"],
    "B6 source kept as a string": ["dynamic_code", "builtins_by_other_names", "kernels"],
    "B7 dataclasses with string annotations": ["dataclass_with_string_annotations", "dataclass_fields_in_quotes"],
    "B8 a sibling that only a script finds": ["script_with_sibling", "sibling_of_a_package_module"],
    "B9 a parameter or local of that name": ["names_of_parameters_and_locals", "import_that_may_not_have_run"],
    "B10 star imports in a cycle": ["star_imports_in_a_cycle", "two_modules_export_one_name", "all_added_up"],
    "B11 an alias in a scope that shadows": ["alias_in_shadowing_scopes", "scopes", "keyword_arguments_are_no_names"],
    "B12 a module that only registers": ["registration_by_decorator", "subclass_hooks", "single_dispatch"],
    "B13 a literal beyond ASCII": ["non_ascii_text", "non_ascii_identifiers"],
    "B14 a module alias of itself": ["module_alias_through_sys_modules", "module_imports_itself", "module_as_a_value"],
    "B15 a flag not carried over": ["boolean_knob", "knob_types", "knobs_in_all_kinds_of_code"],
    "B16 comments stripped by hand": ["comments_stripped", "size_over_the_limit", "size_over_the_limit_with_comments"],
    "B17 code only under main": ["code_only_under_main", "set_up_only_under_main", "statements_under_main"],
    "B18 statements reordered": ["effects_stay", "seeds_and_draws_in_order", "lists_extended_by_other_modules"],
    "E1 setdefault": ["environment_set_by_the_program", "environment_knobs"],
    "E2 defaults of the runner": ["launch_string_of_another_form", "options_that_go"],
    "E3 duplicate keys": ["duplicate_keys", "environment_file_with_duplicates", "knobs_given_twice"],
    "E4 options that the file lacks": ["unknown_variables_and_options", "options_that_the_parser_refuses"],
    "E5 variables set too late": ["variables_that_others_read", "environment_set_by_the_program"],
    "E6 a launch string that does not fit": ["unknown_variables_and_options", "launch_string_of_another_form"],
    "E8 knobs that grow into the file": [
        "environment_knobs",
        "knobs_by_helpers_and_aliases",
        "environment_by_other_ways",
    ],
    "S1 a fallback import": ["optional_import", "imports_that_must_fail", "imports_that_cannot_fail"],
    "S4 no kernel launched": ["kernel_that_nothing_calls", "unknown_kernel"],
}


def shown() -> dict[str, set[str]]:
    """The cases that show each code."""
    found: dict[str, set[str]] = {}
    for name in NAMES:
        path = CASES / name / "expected/error.txt"
        if path.exists():
            for code in re.findall(r"BLD\d+", path.read_text(encoding="utf-8")):
                found.setdefault(code, set()).add(name)
    return found


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_shown_by_a_case(code: str) -> None:
    if code in ELSEWHERE:
        assert code in (ROOT / "parity_tests" / ELSEWHERE[code]).read_text(encoding="utf-8")
    else:
        assert shown().get(code), f"no case shows {code}: {CODES[code].title}"


def test_every_code_is_raised_and_known() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "builder").glob("*.py")}
    raised = {
        code for path, text in sources.items() if path.name != "errors.py" for code in re.findall(r"BLD\d+", text)
    }
    assert raised == set(CODES)
    assert set(shown()) <= set(CODES)


def test_the_readme_has_the_table() -> None:
    assert table() in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_named_by_cases(fault: str) -> None:
    assert set(FAULTS[fault]) <= set(NAMES)


def test_the_faults_are_all_there() -> None:
    rows = [fault.split()[0] for fault in FAULTS]
    assert rows == [*(f"B{i}" for i in range(1, 19)), *(f"E{i}" for i in range(1, 9) if i != 7), "S1", "S4"]
    assert len(NAMES) >= 140


def test_every_refusal_has_a_place_and_a_way_out() -> None:
    for name in NAMES:
        path = CASES / name / "expected/error.txt"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        for problem, remedy in zip(lines[::2], lines[1::2], strict=True):
            assert re.match(r"[\w./-][\w./= -]*(:\d+)?: BLD\d{3} \S", problem), problem
            assert re.match(r"  \S", remedy), remedy
