//! Downloads packages with the clients of their registries, checks their digests, and unpacks them into a
//! cache outside the repository.

use std::{
    env, fs,
    fs::File,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use super::packages::{Package, Registry};

/// The current versions of Python; a package can name another one.
const PYTHON: &str = "3.11";

/// `docward/corpus` in the user's cache, as `scripts/mongod.py` has its servers there.
fn cache() -> Result<PathBuf> {
    let base = match env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => {
            let home = env::var_os("HOME").context("neither XDG_CACHE_HOME nor HOME is set")?;
            PathBuf::from(home).join(".cache")
        }
    };
    Ok(base.join("docward/corpus"))
}

/// Returns the folder with the source of a package after the package was fetched.
pub(super) fn folder(package: &Package) -> Result<PathBuf> {
    Ok(cache()?.join(package.half().name()).join(package.folder()))
}

/// Fetches packages that are not in the cache. A failure does not stop the others.
pub(super) fn fetch(packages: &[Package]) -> Result<()> {
    let mut failures = Vec::new();
    let mut fetched = 0;
    for package in packages {
        if folder(package)?.is_dir() {
            continue;
        }
        match fetch_one(package) {
            Ok(()) => fetched += 1,
            Err(error) => failures.push(format!("{}: {error:#}", package.name)),
        }
    }
    println!("{} packages, {fetched} fetched now: {}", packages.len(), cache()?.display());
    if !failures.is_empty() {
        bail!("{} packages were not fetched:\n{}", failures.len(), failures.join("\n"));
    }
    Ok(())
}

/// The digest of the file that the registry delivers today.
pub(super) fn digest(package: &Package) -> Result<String> {
    let part = Part::new()?;
    digest_of(&download(package, &part.0)?)
}

/// A folder that is removed again, in the cache so that its content can be renamed into place. A run that is
/// killed leaves it behind.
struct Part(PathBuf);

impl Part {
    fn new() -> Result<Self> {
        let path = cache()?.join(format!(".part-{}", std::process::id()));
        if path.exists() {
            fs::remove_dir_all(&path)
                .with_context(|| format!("cannot empty {}", path.display()))?;
        }
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // An error is harmless: the next run uses another folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn fetch_one(package: &Package) -> Result<()> {
    let part = Part::new()?;
    let archive = download(package, &part.0)?;
    let digest = digest_of(&archive)?;
    if !digest.eq_ignore_ascii_case(&package.sha256) {
        bail!("the archive has the SHA-256 {digest}, expected {}", package.sha256);
    }
    let source = part.0.join("source");
    fs::create_dir(&source)?;
    match package.registry {
        Registry::Npm => unpack_tar(&archive, &source)?,
        Registry::Pypi => unpack_zip(&archive, &source)?,
    }
    let target = folder(package)?;
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::rename(&source, &target).with_context(|| format!("cannot make {}", target.display()))
}

/// Runs the client of the registry. Neither client runs code of the package: npm packs the content of the registry, and
/// pip accepts only wheels.
fn download(package: &Package, folder: &Path) -> Result<PathBuf> {
    let folder = folder.join("archive");
    fs::create_dir(&folder)?;
    let Package { name, version, .. } = package;
    let mut command = match package.registry {
        Registry::Npm => {
            let mut npm = Command::new("npm");
            npm.args(["pack", "--silent", "--ignore-scripts", &format!("{name}@{version}")]);
            npm
        }
        Registry::Pypi => {
            let python = package.python.as_deref().unwrap_or(PYTHON);
            let mut pip = Command::new("python3");
            pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"])
                .args(["--implementation", "py", "--abi", "none", "--platform", "any"])
                .args(["--python-version", python, &format!("{name}=={version}")]);
            pip
        }
    };
    let shown = format!("{:?}", command.get_program()).replace('"', "");
    let output = command
        .current_dir(&folder)
        .output()
        .with_context(|| format!("cannot run {shown}: is it installed?"))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("{shown} cannot download {name} {version}: {}", message.trim());
    }
    let mut files = fs::read_dir(&folder)?;
    match (files.next().transpose()?, files.next()) {
        (Some(file), None) => Ok(file.path()),
        _ => bail!("{shown} did not write one file for {name} {version}"),
    }
}

fn digest_of(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// `tar` itself refuses paths that lead out of the folder.
fn unpack_tar(archive: &Path, folder: &Path) -> Result<()> {
    let output = Command::new("tar")
        .args(["--extract", "--gzip", "--no-same-owner", "--no-same-permissions", "--file"])
        .args([archive, Path::new("-C"), folder])
        .output()
        .context("cannot run tar: is it installed?")?;
    if !output.status.success() {
        bail!("tar cannot unpack it: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

fn unpack_zip(archive: &Path, folder: &Path) -> Result<()> {
    let mut archive = zip::ZipArchive::new(File::open(archive)?).context("is no zip archive")?;
    archive.extract(folder).context("cannot unpack it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_lower_case_hexadecimal() {
        let path = env::temp_dir().join(format!("docward-corpus-digest-{}", std::process::id()));
        fs::write(&path, "test").unwrap();
        let digest = digest_of(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(digest, "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08");
    }
}
