"""`bough export`."""

import json
import shutil
import subprocess
from pathlib import Path

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
