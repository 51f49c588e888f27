"""The platform that an executable was built for, read from the executable itself.

The names of artefacts must be accurate: pip and npm install a package on the platforms in its name. Reading the
platform from the file keeps the name correct if the file was built elsewhere or for another target.
"""

import struct

from .common import Failure

# Architecture: Rust's name, pip's name on Linux, npm's name.
ELF_MACHINES = {62: ("x86_64", "x86_64", "x64"), 183: ("aarch64", "aarch64", "arm64")}
MACH_MACHINES = {0x0100_0007: ("x86_64", "x86_64", "x64"), 0x0100_000C: ("aarch64", "arm64", "arm64")}
PE_MACHINES = {0x8664: ("x86_64", "amd64", "x64"), 0xAA64: ("aarch64", "arm64", "arm64")}

# Libraries that a manylinux wheel may expect on every system (PEP 600), as far as Rust programs need them.
MANYLINUX_LIBRARIES = {
    "libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "libresolv.so.2", "librt.so.1",
    "libutil.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
}
# A marker instead of a version number: glibc 2.36 introduced packed relative relocations.
GLIBC_MARKERS = {"GLIBC_ABI_DT_RELR": (2, 36)}

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB, DT_VERNEED, DT_VERNEEDNUM = 1, 5, 0x6FFF_FFFE, 0x6FFF_FFFF


class Platform:
    """The platform of an executable, by the names of Rust, pip and npm."""

    def __init__(self, triple, wheel_tag, npm_os, npm_cpu, npm_libc=None):
        self.triple = triple
        self.wheel_tag = wheel_tag
        self.npm_os = npm_os
        self.npm_cpu = npm_cpu
        # Only with glibc: npm does not install the package elsewhere.
        self.npm_libc = npm_libc

    @property
    def program(self):
        return "docward.exe" if self.npm_os == "win32" else "docward"

    @property
    def npm(self):
        return f"{self.npm_os}-{self.npm_cpu}"


def platform(data):
    """Returns the platform of an executable, given its bytes."""
    try:
        if data[:4] == b"\x7fELF":
            return _elf(data)
        if data[:4] == b"\xcf\xfa\xed\xfe":
            return _mach(data)
        if data[:2] == b"MZ":
            return _pe(data)
    except (struct.error, IndexError, ValueError) as error:
        raise Failure(f"the executable is damaged: {error}") from error
    raise Failure("the file is no executable of Linux (ELF), macOS (Mach-O, one architecture) or Windows (PE)")


def _machine(table, number):
    if number not in table:
        raise Failure(f"the executable is for machine {number:#x}, which has no package name yet")
    return table[number]


class Elf:
    """The dynamic section of a 64-bit little-endian executable."""

    def __init__(self, data):
        if data[4] != 2 or data[5] != 1:
            raise Failure("only 64-bit little-endian executables have package names")
        self.data = data
        self.machine = struct.unpack_from("<H", data, 18)[0]
        start = struct.unpack_from("<Q", data, 32)[0]
        size, count = struct.unpack_from("<HH", data, 54)
        self.loads, self.interpreter, dynamic = [], None, None
        for index in range(count):
            kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, start + index * size)
            if kind == PT_LOAD:
                self.loads.append((address, length, offset))
            elif kind == PT_INTERP:
                self.interpreter = data[offset : offset + length].rstrip(b"\0").decode()
            elif kind == PT_DYNAMIC:
                dynamic = (offset, length)
        self.libraries, self.versions = [], []
        if dynamic:
            self._dynamic(*dynamic)

    def _offset(self, address):
        for start, length, offset in self.loads:
            if start <= address < start + length:
                return address - start + offset
        raise ValueError(f"address {address:#x} lies in no segment")

    def _text(self, table, index):
        return self.data[table + index : self.data.index(b"\0", table + index)].decode()

    def _dynamic(self, offset, length):
        entries = [struct.unpack_from("<qQ", self.data, at) for at in range(offset, offset + length, 16)]
        single = dict(entries)
        if DT_STRTAB not in single:
            return
        table = self._offset(single[DT_STRTAB])
        self.libraries = [self._text(table, value) for tag, value in entries if tag == DT_NEEDED]
        if DT_VERNEED not in single:
            return
        at = self._offset(single[DT_VERNEED])
        for _ in range(single[DT_VERNEEDNUM]):
            _, count, _, first, following = struct.unpack_from("<HHIII", self.data, at)
            name_at = at + first
            for _ in range(count):
                _, _, _, name, next_name = struct.unpack_from("<IHHII", self.data, name_at)
                self.versions.append(self._text(table, name))
                name_at += next_name
            at += following

    def glibc(self):
        """Returns the oldest glibc with every needed symbol, or nothing if it is unknown."""
        found = []
        for version in self.versions:
            if version in GLIBC_MARKERS:
                found.append(GLIBC_MARKERS[version])
            elif version.startswith("GLIBC_"):
                numbers = version[len("GLIBC_") :].split(".")
                if len(numbers) < 2 or not all(number.isdigit() for number in numbers):
                    return None
                found.append((int(numbers[0]), int(numbers[1])))
        return max(found, default=None)


def _elf(data):
    elf = Elf(data)
    rust, pip, npm = _machine(ELF_MACHINES, elf.machine)
    on_glibc = elf.interpreter is not None and "ld-linux" in elf.interpreter
    glibc = elf.glibc() if on_glibc and set(elf.libraries) <= MANYLINUX_LIBRARIES else None
    tag = f"manylinux_{glibc[0]}_{glibc[1]}_{pip}" if glibc else f"linux_{pip}"
    libc = "gnu" if on_glibc else "musl"
    return Platform(f"{rust}-unknown-linux-{libc}", tag, "linux", npm, "glibc" if on_glibc else None)


def _mach(data):
    rust, pip, npm = _machine(MACH_MACHINES, struct.unpack_from("<I", data, 4)[0])
    count, at, oldest = struct.unpack_from("<I", data, 16)[0], 32, None
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, at)
        # LC_BUILD_VERSION and the older LC_VERSION_MIN_MACOSX contain the minimum version of macOS.
        if command in (0x32, 0x24):
            packed = struct.unpack_from("<I", data, at + (12 if command == 0x32 else 8))[0]
            oldest = (packed >> 16, packed >> 8 & 0xFF)
        at += size
    if oldest is None:
        raise Failure("the executable does not say which version of macOS it needs")
    # pip ignores minor versions from macOS 11 on.
    minor = 0 if oldest[0] >= 11 else oldest[1]
    return Platform(f"{rust}-apple-darwin", f"macosx_{oldest[0]}_{minor}_{pip}", "darwin", npm)


def _pe(data):
    header = struct.unpack_from("<I", data, 60)[0]
    if data[header : header + 4] != b"PE\0\0":
        raise ValueError("no PE header")
    rust, pip, npm = _machine(PE_MACHINES, struct.unpack_from("<H", data, header + 4)[0])
    return Platform(f"{rust}-pc-windows-msvc", f"win_{pip}", "win32", npm)
