"""`bough export`."""

import json
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest


def test_files_and_names(run):
    found = json.loads(
        run("export", "zoo:arm:2", "my arm.c", "gravity", "jacobian?frame=hand", "--prefix", "a", "--json")
    )
    assert found["functions"] == ["a_gravity", "a_jacobian_hand"]
    assert [Path(file).name for file in found["files"]] == ["my arm.c", "my arm.h", "my arm.cmake"]
    assert "const double *q" in Path("my arm.h").read_text()
    run("export", "zoo:arm:2", "arm.c", "--float")
    assert "const float *q" in Path("arm.h").read_text()


@pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("gcc")), reason="needs cmake and gcc")
def test_the_snippet_builds(run, tmp_path):
    run("export", "zoo:arm:2", "my arm.c", "gravity", "--prefix", "arm")
    (tmp_path / "main.c").write_text(
        '#include "my arm.h"\n'
        "int main(void) { double q[2] = {0}, tau[2]; arm_gravity(q, tau); return tau[0] != tau[0]; }\n"
    )
    (tmp_path / "CMakeLists.txt").write_text(
        'cmake_minimum_required(VERSION 3.15)\nproject(demo C)\ninclude("my arm.cmake")\n'
        "add_executable(demo main.c)\ntarget_link_libraries(demo PRIVATE my_arm)\n"
    )
    for words in (["cmake", "-S", ".", "-B", "out"], ["cmake", "--build", "out"], ["out/demo"]):
        subprocess.run(words, check=True, capture_output=True)


@pytest.mark.skipif(not shutil.which("g++"), reason="needs gcc and g++")
@pytest.mark.parametrize("more", [(), ("--float",), ("--prefix", "hand")])
def test_a_ros_package_compiles_and_its_check_passes(run, more):
    """Without ament: what its CMakeLists.txt compiles, and what its launch test runs."""
    found = json.loads(run("export", "zoo:arm:3", "my_arm", "forward_dynamics", "gravity", "--ros2", "--json", *more))
    package = Path("my_arm")
    assert {str(Path(file).relative_to(package)) for file in found["files"]} == {
        "package.xml", "CMakeLists.txt", "src/my_arm.c", "include/my_arm/my_arm.h", "include/my_arm/dynamics.hpp",
        "test/check.cpp", "test/check.launch.py",
    }  # fmt: skip
    strict = ["-Wall", "-Wextra", "-Werror", "-O1"]
    subprocess.run(["gcc", "-std=c99", *strict, "-I", "my_arm/include/my_arm", "-c", "my_arm/src/my_arm.c"], check=True)
    words = ["g++", "-std=c++17", *strict, "-I", "my_arm/include", "my_arm/test/check.cpp", "my_arm.o", "-o", "check"]
    subprocess.run(words, check=True)
    assert subprocess.run(["./check"], check=True, capture_output=True, text=True).stdout == "all results are finite\n"
    compile((package / "test" / "check.launch.py").read_text(), "check.launch.py", "exec")
    ElementTree.parse(package / "package.xml")
    wrapper = (package / "include" / "my_arm" / "dynamics.hpp").read_text()
    assert "inline void gravity(const std::array<" in wrapper
    assert "new " not in wrapper


def test_what_is_no_ros_package_is_refused(refused):
    assert "named in lower case" in refused("export", "zoo:arm:2", "My-Arm", "--ros2")
    Path("there").mkdir()
    Path("there", "file").touch()
    assert "is there already" in refused("export", "zoo:arm:2", "there", "--ros2")
