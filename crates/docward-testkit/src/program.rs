//! Locates the server program.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// The root of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two directories up")
}

/// The path of `mongod`, which `scripts/mongod.py` finds or downloads.
pub fn mongod() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| ask(&[]))
}

/// A `mongod` of a specific version, one of those that `scripts/mongod.py` knows.
pub fn mongod_of(version: &str) -> PathBuf {
    ask(&[version])
}

/// The path of mongosh, or `None` if it is not available; `DOCWARD_REQUIRE_MONGOSH=1` makes that a
/// failure.
#[allow(clippy::print_stderr, reason = "a test that is left out says so")]
pub fn mongosh() -> Option<PathBuf> {
    let script = repository().join("scripts/mongosh.py");
    let output = Command::new("python3").arg(script).arg("--install").output();
    let output = output.expect("python3 is needed to find mongosh: install it, or add it to PATH");
    if output.status.success() {
        return Some(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    assert!(std::env::var_os("DOCWARD_REQUIRE_MONGOSH").is_none(), "there is no mongosh");
    eprintln!("left out: there is no mongosh");
    None
}

fn ask(arguments: &[&str]) -> PathBuf {
    let script = repository().join("scripts/mongod.py");
    let output = Command::new("python3")
        .arg(&script)
        .args(arguments)
        .output()
        .expect("python3 is needed to find a mongod: install it, or add it to PATH");
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(
        output.status.success() && !path.is_empty(),
        "{} found no mongod (set DOCWARD_MONGOD to one):\n{}",
        script.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    PathBuf::from(path)
}
