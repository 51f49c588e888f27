//! Runs a real headless Chromium for tests of pages. It ends with the test that started it.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{
    patience::{wait_for, wait_until},
    repository,
};

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    runtime: Runtime,
    client: Client,
    _driver: Driver,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser of this size in pixels; `None` if `DOCWARD_NO_BROWSER` states that none is
    /// available.
    pub fn start(width: u32, height: u32) -> Option<Self> {
        if std::env::var_os("DOCWARD_NO_BROWSER").is_some() {
            return None;
        }
        let (browser, program) = programs();
        let profile = tempfile::tempdir().expect("a directory for the profile");
        let (driver, port) = start_driver(&program);
        let arguments = [
            "--headless=new".to_owned(),
            // Chromium's own sandbox does not work in containers; the pages are Docward's own.
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--force-prefers-reduced-motion".to_owned(),
            format!("--window-size={width},{height}"),
            format!("--user-data-dir={}", profile.path().display()),
        ];
        let capabilities = json!({
            "goog:chromeOptions": { "binary": browser, "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let capabilities = capabilities.as_object().cloned().unwrap_or_default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let client = runtime.block_on(async {
            ClientBuilder::new(HttpConnector::new())
                .capabilities(capabilities)
                .connect(&format!("http://127.0.0.1:{port}"))
                .await
                .expect("chromedriver starts Chromium")
        });
        let started = Self { runtime, client, _driver: driver, _profile: profile };
        started.resize(width, height);
        Some(started)
    }

    /// Opens a file, at a fragment that may be empty, and waits until its script has finished.
    pub fn open(&self, file: &Path, fragment: &str) {
        // Another fragment of the same page would not reload it.
        self.wait(self.client.goto("about:blank"));
        self.wait(self.client.goto(&format!("file://{}{fragment}", file.display())));
        self.until("document.documentElement.dataset.ready === 'yes'");
    }

    /// Opens a page of a local server.
    pub fn visit(&self, url: &str) {
        self.wait(self.client.goto(url));
    }

    /// The value of a JavaScript expression on the page.
    pub fn value(&self, expression: &str) -> Value {
        self.wait(self.client.execute(&format!("return ({expression});"), Vec::new()))
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn until(&self, expression: &str) {
        wait_until(expression, || self.value(expression) == Value::Bool(true));
    }

    /// Clicks on the first element that matches a selector.
    pub fn click(&self, selector: &str) {
        let client = &self.client;
        self.wait(async { client.find(fantoccini::Locator::Css(selector)).await?.click().await });
    }

    /// Types into the first element that matches a selector; `\u{e004}` is the tab key.
    pub fn type_into(&self, selector: &str, keys: &str) {
        let client = &self.client;
        self.wait(async {
            client.find(fantoccini::Locator::Css(selector)).await?.send_keys(keys).await
        });
    }

    /// Sets the width and height of the page.
    pub fn resize(&self, width: u32, height: u32) {
        // Windows have a minimum width of 500 pixels, pages do not.
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", size);
    }

    /// Sets the preferred colour scheme, dark or light.
    pub fn prefer(&self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Emulates print or screen media.
    pub fn show_as(&self, media: &str) {
        self.devtools("Emulation.setEmulatedMedia", json!({ "media": media }));
    }

    /// Permits the page to use the clipboard.
    pub fn allow_clipboard(&self) {
        for name in ["clipboard-read", "clipboard-write"] {
            let permission = json!({ "name": name });
            let order = json!({ "permission": permission, "setting": "granted" });
            self.devtools("Browser.setPermission", order);
        }
    }

    /// Messages on the console, and errors of the page, since the last call.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.wait(self.client.issue_cmd(ChromeLog));
        let entries = log.as_array().cloned().unwrap_or_default();
        entries.iter().map(|entry| entry["message"].to_string()).collect()
    }

    /// Saves a screenshot of the visible part.
    pub fn screenshot(&self, file: &Path) {
        let picture = self.wait(self.client.screenshot());
        std::fs::write(file, picture).expect("the picture is written");
    }

    fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.wait(self.client.issue_cmd(DevTools { command: command.to_owned(), parameters }))
    }

    fn wait<T, E: std::fmt::Display>(&self, work: impl Future<Output = Result<T, E>>) -> T {
        self.runtime.block_on(work).unwrap_or_else(|error| panic!("the browser: {error}"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.runtime.block_on(self.client.clone().close());
    }
}

/// The driver process, which ends with the test even if no browser could be started.
#[derive(Debug)]
struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The paths of Chromium and its driver, from `scripts/browser.py`.
fn programs() -> (String, PathBuf) {
    let script = repository().join("scripts/browser.py");
    let output = Command::new("python3").arg(&script).output().expect("python3 finds a browser");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines();
    match (lines.next(), lines.next()) {
        (Some(browser), Some(driver)) => (browser.to_owned(), PathBuf::from(driver)),
        _ => panic!(
            "{}\npython3 scripts/browser.py --install installs one; DOCWARD_NO_BROWSER=1 leaves these tests out",
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}

/// Starts the driver on a port that it selects itself. Another program may take the port in
/// between: the driver then exits, and is started again.
fn start_driver(program: &Path) -> (Driver, u16) {
    wait_for("chromedriver says its port", || try_driver(program))
}

fn try_driver(program: &Path) -> Option<(Driver, u16)> {
    let mut driver = Command::new(program)
        .args(["--port=0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("chromedriver can be started");
    let output = BufReader::new(driver.stdout.take().expect("stdout is a pipe"));
    let driver = Driver(driver);
    let port = output.lines().map_while(Result::ok).find_map(|line| {
        let (_, port) = line.split_once("started successfully on port ")?;
        port.trim_end_matches('.').parse().ok()
    });
    Some((driver, port?))
}

/// The command to read the console, which is not part of the standard protocol.
#[derive(Debug)]
struct ChromeLog;

impl fantoccini::wd::WebDriverCompatibleCommand for ChromeLog {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "type": "browser" }).to_string()))
    }
}

/// A DevTools command for the browser.
#[derive(Debug)]
struct DevTools {
    command: String,
    parameters: Value,
}

impl fantoccini::wd::WebDriverCompatibleCommand for DevTools {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        let order = json!({ "cmd": self.command, "params": self.parameters });
        (http::Method::POST, Some(order.to_string()))
    }
}
