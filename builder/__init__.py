"""The builder: flattens a recipe of many modules into one readable train.py, its knobs frozen, its output proven.

The phases, each a module, in the order in which data moves:

    settings   build.yaml -> what to build
    scan       every module that the entry can reach, in parts (top-level statements); scopes: who binds which name
    namespaces names read as a dictionary at import time, written out where they are known   (module_values: modules
               used as values, made where their names are known and stay)
    given      what a user gives to knobs: files, launch string, --set
    knobs      the config class and the given values -> one value and origin per knob
    bindings   what a name stands for, imports between modules looked through   (availability: imports that may fail)
    facts      values that settings decide: the environment and the command line, and all that the program makes of
               them by pure code   (values, code, flow, objects, environment, arguments, options)
    freeze     knobs to literals, objects that hold them removed, branches folded   (configs, taint, expressions,
               surgery)
    late       modules that run only where a function or a block imports them, and so must not run before
    link       the order in which Python would run the parts, and what each refers to
    shake      the parts that hooks, the `__main__` block and side effects reach   (effects, hints)
    forbid     what kept code may not do   (reflection, frames, loaded, versions)
    names      final names, decided last   (shown: whose name a program can see)
    fields     annotations of dataclass fields, which may not be strings   (class_modules: classes say their module)
    emit       the text, printed from source under edits   (edits, strings)
    strip      the text without comments, where that is asked for   (licences)
    verify     the proof: the text parsed again and compared with the sources under the same decisions
    listing    every knob with value and origin, and what is worth a warning

Decisions are kept twice, as text edits and on the syntax tree (`rewrite`): the printer uses the first, the proof the
second.

What a recipe must keep to, and is refused with file and line where it does not (all kinds: the table in `errors`):

- A config is a frozen dataclass; it is passed as a parameter annotated with it, and only its fields are read.
- Modules are imported by statements, and used by naming what is in them; a module is a value only where its names are
  bound once and for all, in programs that list no object's names, and it does not import itself.
- An import that may fail is not passed over in silence, one of kernels not at all; one of a package that the machine
  lacks fails, and is caught or refused.
- Reads of the environment and of the command line are decided by settings, the launcher's own variables aside.
- No code from strings, no `__file__`, no `globals()`, `vars()` or `sys.modules`; no `__module__`, frames' names and
  files, which in one file are others. What is known stays: `"name" in globals()` at import time, instances of a class
  of the recipe among `vars().values()` there, a frame's local that no variable of a module is called, whether two
  places in the code are one, packages from outside in `sys.modules` by an attribute's literals, and
  `type(value).__module__` in programs that make classes by class statements alone and look none up.
- Modules that run late do not import each other in a circle.
- Under `if __name__ == "__main__":` stands nothing that the hooks need.
- Types of dataclass fields are not read as values where they are strings.
"""

__version__ = "0.1.0"
