"""What readelf 2.40 and cuobjdump 13.5 printed of real libraries, read for the tests on demand."""

from __future__ import annotations

from collections import Counter

from tool_output import parse_cuobjdump, parse_readelf

# torchvision 0.29.1, image_stable.so, and lines of other libraries where it has none of a kind
READELF = """
Dynamic section at offset 0x33c48 contains 40 entries:
  Tag        Type                         Name/Value
 0x0000000000000001 (NEEDED)             Shared library: [libpng16.1d0d8f4e.so.16]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x000000000000000f (RPATH)              Library rpath: [/opt/lib]
 0x000000000000001d (RUNPATH)            Library runpath: [$ORIGIN:$ORIGIN/../torchvision.libs]
 0x000000000000000c (INIT)               0x7000
 0x000000000000000e (SONAME)             Library soname: [libcudart.so.13]

Version symbols section '.gnu.version' contains 337 entries:
 Addr: 0x0000000000004a98  Offset: 0x00004a98  Link: 1 (.dynsym)
  000:   0 (*local*)       2 (PNG16_0)       3 (GLIBCXX_3.4)   1 (*global*)

Version definition section '.gnu.version_d' contains 2 entries:
  000000: Rev: 1  Flags: BASE  Index: 1  Cnt: 1  Name: libstdc++.so.6
  0x001c: Rev: 1  Flags: none  Index: 2  Cnt: 1  Name: GLIBCXX_3.4.99

Version needs section '.gnu.version_r' contains 8 entries:
 Addr: 0x0000000000004d40  Offset: 0x00004d40  Link: 30 (.dynstr)
  000000: Version: 1  File: libpthread.so.0  Cnt: 1
  0x0010:   Name: GLIBC_2.2.5  Flags: none  Version: 14
  0x0020: Version: 1  File: libgcc_s.so.1  Cnt: 1
  0x0030:   Name: GCC_3.0  Flags: none  Version: 13
  0x0040: Version: 1  File: libcudart.faf08d9a.so.13  Cnt: 1
  0x0050:   Name: libcudart.so.13  Flags: none  Version: 9
  0x0060:   Name: GLIBC_2.14  Flags: WEAK  Version: 15
  0x0070:   Name: GLIBC_PRIVATE  Flags: none  Version: 16
  0x0080:   Name: GLIBCXX_3.4.9  Flags: none  Version: 12
  0x0090:   Name: GLIBCXX_3.4.21  Flags: none  Version: 10

Symbol table '.dynsym' contains 337 entries:
   Num:    Value          Size Type    Bind   Vis      Ndx Name
     0: 0000000000000000     0 NOTYPE  LOCAL  DEFAULT  UND 
     1: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND png_write_info@PNG16_0 (2)
     2: 0000000000000000     0 NOTYPE  GLOBAL DEFAULT  UND PyList_New
     3: 0000000000000000     0 NOTYPE  WEAK   DEFAULT  UND _Py_Dealloc
     4: 0000000000000000     0 NOTYPE  GLOBAL DEFAULT  UND PyList_New@V (7)
     5: 0000000000000000     0 NOTYPE  GLOBAL DEFAULT  UND Pyramid
     6: 0000000000029b10    52 FUNC    GLOBAL DEFAULT   14 PyInit_image
"""  # noqa: W291

# tests/fixtures/cuda/rdc.fatbin, then zstd.fatbin, then a line that is cut off as in a crash
CUOBJDUMP = """

Fatbin elf code:
================
arch = sm_90a
code version = [1,8]
host = linux
compile_size = 64bit
compressed

Fatbin nvvm code:
================
arch = sm_90a
host = linux

Fatbin ptx code:
================
arch = sm_90a
code version = [9,5]
ptxasOptions = --arch = sm_80

Fatbin elf code:
================
arch = sm_100f

64-bit ELF: type=ET_EXEC, ABI=8, sm=100, toolkit=13.0, flags=0x6006402
arch = sm_1

Fatbin elf code:
================
arch = sm_100f

Fatbin elf code:
"""


def test_readelf_tells_what_the_loader_needs() -> None:
    found = parse_readelf(READELF)
    assert found.needed == ("libpng16.1d0d8f4e.so.16", "libc.so.6")
    assert found.rpath == "/opt/lib"
    assert found.runpath == "$ORIGIN:$ORIGIN/../torchvision.libs"


def test_versions_are_compared_as_numbers_and_only_needs_count() -> None:
    assert parse_readelf(READELF).floors == {"GCC": "3.0", "GLIBC": "2.14", "GLIBCXX": "3.4.21"}


def test_undefined_python_symbols_are_counted_once_by_name() -> None:
    assert parse_readelf(READELF).python_symbols == 2


def test_readelf_of_a_file_without_tables() -> None:
    found = parse_readelf("\nThere is no dynamic section in this file.\n")
    assert (found.needed, found.runpath, found.floors, found.python_symbols) == ((), "", {}, 0)


def test_cuobjdump_headings_are_images_with_their_suffix() -> None:
    assert parse_cuobjdump(CUOBJDUMP.splitlines()) == Counter(
        {
            ("elf", "sm_90a"): 1,
            ("lto", "lto_90a"): 1,
            ("ptx", "compute_90a"): 1,
            ("elf", "sm_100f"): 2,
        }
    )
