//! A browser that a test drives, through WebDriver.

use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Signal, skipped};

/// Longest time that anything on a page may take.
const DEADLINE: Duration = Duration::from_secs(60);
/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// What the driver writes once it listens.
const LISTENING: &str = "started successfully on port ";

/// What sends a form.
const ENTER: &str = "\u{e007}";

/// What says that a screen is complete: it has content and waits for nothing.
const IS_COMPLETE: &str = "return document.querySelector('main > *') !== null \
    && document.querySelector('.waiting, [aria-busy=true]') === null";

/// How often a driver is started.
const ATTEMPTS: usize = 5;

/// A chromium without a window, and its driver.
pub(crate) struct Browser {
    driver: Child,
    http: reqwest::Client,
    /// Address of the session.
    session: String,
    /// What both write.
    _files: TempDir,
}

/// Starts a driver; `None` if it ends at once, as it does where another process takes the port that it chose.
fn start_driver(files: &Path) -> io::Result<Option<(Child, u16)>> {
    let mut command = Command::new("chromedriver");
    command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.env("TMPDIR", files).process_group(0);
    let mut driver = command.spawn()?;
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = lines.find_map(|line| {
        let (_, port) = line.unwrap().split_once(LISTENING).map(|(a, b)| (a.to_owned(), b.to_owned()))?;
        port.trim_end_matches('.').parse::<u16>().ok()
    });
    let Some(port) = port else {
        driver.wait()?;
        return Ok(None);
    };
    Ok(Some((driver, port)))
}

impl Browser {
    /// Starts one with a window of that size. `None` where there is none, which fails where `CI` is `true`.
    #[expect(clippy::disallowed_methods, reason = "where CI runs, a browser is required")]
    pub(crate) async fn start(width: u32, height: u32) -> Option<Self> {
        let files = tempfile::tempdir().unwrap();
        let Ok(started) = (0..ATTEMPTS).find_map(|_| start_driver(files.path()).transpose()).transpose() else {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "chromedriver is not installed; .ci/run does that");
            skipped(
                "the web interface in a browser: chromedriver is not installed (Debian: chromium, chromium-driver)",
            );
            return None;
        };
        let (driver, port) = started.expect("chromedriver says where it listens");
        let base = format!("http://127.0.0.1:{port}/session");
        let http = reqwest::Client::builder().no_proxy().timeout(DEADLINE).build().unwrap();
        let mut browser = Self { driver, http, session: base.clone(), _files: files };
        let arguments = [
            "--headless=new".to_owned(),
            // Tests run as root in a container, where chromium's own sandbox does not start.
            "--no-sandbox".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--hide-scrollbars".to_owned(),
            format!("--window-size={width},{height}"),
        ];
        let capabilities = json!({
            "browserName": "chrome",
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let made = browser.send("", json!({ "capabilities": { "alwaysMatch": capabilities } })).await;
        browser.session = format!("{base}/{}", made["sessionId"].as_str().unwrap());
        Some(browser)
    }

    async fn send(&self, command: &str, body: Value) -> Value {
        let response = self.http.post(format!("{}{command}", self.session)).json(&body).send().await.unwrap();
        let (status, mut answer) = (response.status(), response.json::<Value>().await.unwrap());
        assert!(status.is_success(), "{command} {body}: {answer:#}");
        answer["value"].take()
    }

    /// Loads an address and waits until the screen is complete.
    pub(crate) async fn open(&self, url: &str) {
        self.send("/url", json!({ "url": url })).await;
        self.until_complete(url).await;
    }

    /// Waits until the screen is complete.
    pub(crate) async fn until_complete(&self, what: &str) {
        self.until(what, IS_COMPLETE).await;
    }

    /// Runs the body of a function in the page.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.send("/execute/sync", json!({ "script": script, "args": [] })).await
    }

    /// Waits until the body of a function returns something that is true.
    pub(crate) async fn until(&self, what: &str, script: &str) {
        let end = Instant::now() + DEADLINE;
        while self.run(script).await != Value::Bool(true) {
            if Instant::now() >= end {
                let text = self.run("return document.body.innerText").await;
                panic!("{what}: not within {DEADLINE:?}; the page says {text}");
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Presses keys, one after the other; the first may be held down meanwhile.
    pub(crate) async fn press(&self, held: Option<char>, keys: &str) {
        let mut actions = Vec::new();
        actions.extend(held.map(|key| json!({ "type": "keyDown", "value": key })));
        for key in keys.chars() {
            actions.push(json!({ "type": "keyDown", "value": key }));
            actions.push(json!({ "type": "keyUp", "value": key }));
        }
        actions.extend(held.map(|key| json!({ "type": "keyUp", "value": key })));
        self.send("/actions", json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] })).await;
    }

    /// Clicks the first visible element of a selector that says these words, once there is one.
    pub(crate) async fn click(&self, selector: &str, words: &str) {
        let script = format!(
            "const says = element => (element.innerText || element.ariaLabel || '').includes({});
             const found = [...document.querySelectorAll({})].find(element => element.checkVisibility() && says(element));
             found?.click();
             return found !== undefined",
            json!(words),
            json!(selector)
        );
        self.until(&format!("a click on {selector} '{words}'"), &script).await;
    }

    /// Writes into a field, once it is there, in place of what it holds, and sends it.
    pub(crate) async fn enter(&self, selector: &str, text: &str) {
        let focus = format!(
            "const field = document.querySelector({});
             field?.focus();
             field?.select();
             return field !== null && document.activeElement === field",
            json!(selector)
        );
        self.until(&format!("the field {selector}"), &focus).await;
        self.press(None, text).await;
        self.press(None, ENTER).await;
    }

    /// Waits until an element of a selector says these words.
    pub(crate) async fn until_says(&self, selector: &str, words: &str) {
        let script = format!(
            "return [...document.querySelectorAll({})].some(element => element.innerText.includes({}))",
            json!(selector),
            json!(words)
        );
        self.until(&format!("{selector} says '{words}'"), &script).await;
    }

    /// Shows pages as a phone does, whose screen is so many pixels wide.
    pub(crate) async fn be_narrow(&self, width: u32) {
        let metrics = json!({ "width": width, "height": 740, "deviceScaleFactor": 1, "mobile": false });
        let command = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": metrics });
        self.send("/goog/cdp/execute", command).await;
    }

    /// What axe finds wrong with the page for people who use it by ear, by keyboard or with weak eyes: what is serious or
    /// critical, a line each.
    pub(crate) async fn serious_faults(&self) -> Vec<String> {
        let axe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/support/axe.min.js");
        self.run(&fs::read_to_string(axe).unwrap()).await;
        let found = self
            .run(
                "return axe.run(document, { resultTypes: ['violations'] }).then(found => found.violations
                    .filter(fault => ['serious', 'critical'].includes(fault.impact))
                    .map(fault => `${fault.id}: ${fault.nodes.slice(0, 3).map(node => node.html).join(' ')}`))",
            )
            .await;
        found.as_array().unwrap().iter().map(|fault| fault.as_str().unwrap().to_owned()).collect()
    }

    /// What the console said since this was last asked.
    pub(crate) async fn console(&self) -> Vec<String> {
        let entries = self.send("/se/log", json!({ "type": "browser" })).await;
        let entries = entries.as_array().unwrap().iter();
        entries.map(|entry| format!("{}: {}", entry["level"], entry["message"])).collect()
    }

    /// A picture of the window as PNG, in base64.
    pub(crate) async fn screenshot(&self) -> String {
        let response = self.http.get(format!("{}/screenshot", self.session)).send().await.unwrap();
        let answer = response.json::<Value>().await.unwrap();
        answer["value"].as_str().unwrap().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver leaves its browser behind.
        let group = Pid::from_raw(self.driver.id().try_into().unwrap()).unwrap();
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.driver.wait();
    }
}
