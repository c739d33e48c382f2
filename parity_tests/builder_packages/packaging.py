"""Versions, specifiers, markers, requirements, tags, metadata."""

from packaging import markers, requirements, specifiers, tags, utils, version
from packaging.metadata import Metadata
from packaging.version import Version, parse


def main() -> None:
    texts = ["1.0", "1.0.dev1", "1.0a1", "1.0b2.post3", "2!1.0", "1.0+local.1", "1.0rc1", "0.9", "1.10", "v1.2"]
    for found in sorted(parse(text) for text in texts):
        print(
            repr(found),
            found.public,
            found.base_version,
            found.is_prerelease,
            found.epoch,
            found.local,
            hash(found) == hash(parse(str(found))),
        )
    for text in ("x", "1..0", ""):
        try:
            Version(text)
        except version.InvalidVersion as error:
            print(error)
    for text in (">=1.0,<2", "~=1.4.2", "==1.*", "!=1.5", "===arbitrary", ">1.0.post1", ""):
        found = specifiers.SpecifierSet(text)
        print(found, [str(v) for v in found.filter(["0.9", "1.0", "1.4.5", "1.5", "2.0", "1.0a1", "1.0.post2"])])
    print(specifiers.SpecifierSet(">=1,<2") & specifiers.SpecifierSet("!=1.3"), "1.3" in specifiers.SpecifierSet(">=1"))
    for text in (
        'python_version >= "3.8" and sys_platform == "linux"',
        'extra == "test" or os_name != "nt"',
        '"a" in platform_machine',
    ):
        marker = markers.Marker(text)
        environment = {
            "python_version": "3.9",
            "sys_platform": "linux",
            "os_name": "posix",
            "extra": "test",
            "platform_machine": "x",
        }
        print(marker, marker.evaluate(environment), repr(marker))
    try:
        markers.Marker("foo == 1")
    except markers.InvalidMarker as error:
        print(error)
    for text in (
        'requests[security,tests]>=2.8.1,==2.8.* ; python_version < "2.7"',
        "name @ https://example.org/x.zip",
        "A.B-C>1",
    ):
        found = requirements.Requirement(text)
        print(found, found.name, sorted(found.extras), found.specifier, found.url, found.marker)
    for text in ("a b", "a>>1", "a[", "a @ "):
        try:
            requirements.Requirement(text)
        except requirements.InvalidRequirement as error:
            print(error)
    print(utils.canonicalize_name("Foo.Bar_baz--x"), utils.canonicalize_version("1.4.0.0"))
    name, number, build, found = utils.parse_wheel_filename("foo-1.0-1-py3-none-any.whl")
    print(name, number, build, [str(tag) for tag in found], utils.parse_sdist_filename("foo-1.0.tar.gz"))
    print(sorted(map(str, tags.parse_tag("py2.py3-none-any"))))
    print([str(tag) for tag in tags.cpython_tags((3, 9), ["cp39"], ["linux_x86_64"])][:6])
    print([str(tag) for tag in tags.compatible_tags((3, 3), "cp33", ["plat"])])
    print(list(tags.mac_platforms((11, 2), "arm64"))[:4])
    print(len(list(tags.sys_tags())) > 10)
    text = "Metadata-Version: 2.1\nName: x\nVersion: 1.0\nRequires-Dist: y>=1\nClassifier: A\n\nbody\n"
    found = Metadata.from_email(text)
    print(found.name, found.version, found.requires_dist, found.classifiers, found.description)
    try:
        Metadata.from_raw({"name": "x"})
    except ExceptionGroup as group:
        print(group, [str(error) for error in group.exceptions])


if __name__ == "__main__":
    main()
