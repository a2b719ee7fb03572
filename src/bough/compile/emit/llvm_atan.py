"""Arc tangent of many numbers at once, as LLVM IR.

With 0, pi/4 or pi/2 taken off, the tangent t of the angle is at most 7/16, where the polynomial of fdlibm serves.
Below 2 ulp, for any sign, zero, infinity and NaN. Floats go by way of doubles.
"""

from __future__ import annotations

from bough.compile.emit.ir import Block, Kind, horner

# atan t = t - t^3 p(t^2)
ARC = (3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01,
       -1.11111104054623557880e-01, 9.09088713343650656196e-02, -7.69187620504482999495e-02,
       6.66107313738753120669e-02, -5.83357013379057348645e-02, 4.97687799461593236017e-02,
       -3.65315727442169155270e-02, 1.62858201153657823623e-02)  # fmt: skip
PI_2 = (1.57079632679489655800, 6.12323399573676603587e-17)  # and what rounding takes off
NEAR, FAR = 0.4375, 2.5  # between them pi/4 is taken off, beyond them pi/2


def atan_function(kind: Kind) -> str:
    """`@atan(x)`: one value of `kind`."""
    wide = Kind("double", kind.lanes)
    T, D, b = kind.type, wide.type, Block()
    x = "%x" if T == D else b(f"fpext {T} %x to {D}")
    angle = b(f"call {D} @llvm.copysign.{wide.suffix}({D} {_of_size(b, wide, x)}, {D} {x})")
    b.do(f"ret {T} {angle if T == D else b(f'fptrunc {D} {angle} to {T}')}")
    return f"""
declare {D} @llvm.copysign.{wide.suffix}({D}, {D})
define internal {T} @atan({T} %x) noinline nounwind {{
{b.text()}
}}
"""


def _of_size(b: Block, kind: Kind, x: str) -> str:
    """atan |x| = angle + atan t, with t = (|x| - tan(angle)) / (1 + |x| tan(angle))."""
    T, zero, one = kind.type, kind.const(0.0), kind.const(1.0)
    size = b(f"call {T} @llvm.copysign.{kind.suffix}({T} {x}, {T} {one})")
    off_near, off_far = (b(f"fcmp ogt {T} {size}, {kind.const(limit)}") for limit in (NEAR, FAR))

    def choose(near: str, middle: str, far: str) -> str:
        mask = "i1" if kind.lanes == 1 else f"<{kind.lanes} x i1>"
        nearer = b(f"select {mask} {off_near}, {T} {middle}, {T} {near}")
        return b(f"select {mask} {off_far}, {T} {far}, {T} {nearer}")

    above = choose(size, b(f"fsub {T} {size}, {one}"), kind.const(-1.0))
    below = choose(one, b(f"fadd {T} {size}, {one}"), size)
    angle, rest = (choose(zero, kind.const(part / 2), kind.const(part)) for part in PI_2)
    t = b(f"fdiv {T} {above}, {below}")
    z = b(f"fmul {T} {t}, {t}")
    bend = b(f"fmul {T} {z}, {horner(b, kind, z, ARC)}")
    small = b(f"fsub {T} {rest}, {b(f'fmul {T} {t}, {bend}')}")
    return b(f"fadd {T} {angle}, {b(f'fadd {T} {t}, {small}')}")
