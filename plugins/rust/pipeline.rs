//! Handlers in Rust for the interface "pipeline 1".
//!
//! Put this file beside yours, write `mod pipeline;`, define handlers with
//! `handler!` and build with ./build.sh: rustc alone is enough.
//!
//! ```ignore
//! handler!(screen_payment, |input| {
//!     let payment = input.member("body")?;
//!     Some(reply(format!("{{\"payment_id\":{}}}", payment.member("id")?.json()?)))
//! });
//! ```
//!
//! A handler that returns `None` has failed: what it looked for was not there.
//! So has one that panics; its words become the message of the failed attempt.
//!
//! With `input = "raw"` the input is the body's bytes: `input.bytes()`.
#![allow(dead_code)]

/// What becomes of an entry.
pub enum Outcome {
    Ack,
    Retry,
    Dead,
    Drop,
    /// A result as the interface has it: `{"action": …}`.
    Json(String),
}

/// A reply with a body, which is JSON.
pub fn reply(body: String) -> Outcome {
    Outcome::Json(["{\"action\":\"reply\",\"replies\":[{\"body\":", &body, "}]}"].concat())
}

/// A retry that waits that long at least.
pub fn retry_after(ms: u64) -> Outcome {
    Outcome::Json(format!("{{\"action\":\"retry\",\"after_ms\":{}}}", ms))
}

/// A dead letter with its reason.
pub fn dead(reason: &str) -> Outcome {
    Outcome::Json(format!("{{\"action\":\"dead\",\"reason\":{}}}", quote(reason)))
}

/// A text as JSON.
pub fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c)
            }
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A JSON value as it is written: a number has all its digits. It is held as
/// bytes, so that nothing is looked at that a handler does not ask for.
#[derive(Clone, Copy)]
pub struct Json<'a>(pub &'a [u8]);

impl<'a> Json<'a> {
    /// The value as it is written; of a raw input, the body, which may be no
    /// JSON at all.
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }

    /// The value as it is written. It is None only of a raw input that is not
    /// UTF-8.
    pub fn json(&self) -> Option<&'a str> {
        std::str::from_utf8(self.0).ok()
    }

    /// A number as a float.
    pub fn number(&self) -> Option<f64> {
        self.json()?.parse().ok()
    }

    /// A string without its quotes; escapes stay as they are.
    pub fn text(&self) -> Option<&'a str> {
        self.json()?.strip_prefix('"')?.strip_suffix('"')
    }

    /// A member of an object. Names with escapes are not found.
    pub fn member(&self, name: &str) -> Option<Json<'a>> {
        let [found] = self.members([name]);
        found
    }

    /// Members of an object. It is read once, and no further than to the last one.
    pub fn members<const N: usize>(&self, names: [&str; N]) -> [Option<Json<'a>>; N] {
        let mut found = [None; N];
        let mut left = N;
        let mut members = Members { b: self.0, at: 0, begun: false };
        while let Some((key, start)) = members.next() {
            members.at = skip(self.0, start);
            for (name, value) in names.iter().zip(found.iter_mut()) {
                if value.is_none() && key == name.as_bytes() {
                    *value = self.0.get(start..members.at).map(Json);
                    left -= 1;
                }
            }
            if left == 0 {
                break;
            }
        }
        found
    }

    /// A member that is an object, to look for its members: where it ends is not
    /// looked for, so that what follows it is in it too.
    pub fn inside(&self, name: &str) -> Option<Json<'a>> {
        let mut members = Members { b: self.0, at: 0, begun: false };
        while let Some((key, start)) = members.next() {
            if key == name.as_bytes() {
                return self.0.get(start..).map(Json);
            }
            members.at = skip(self.0, start);
        }
        None
    }
}

/// Goes through the members of an object.
struct Members<'a> {
    b: &'a [u8],
    /// Behind the last value.
    at: usize,
    begun: bool,
}

impl<'a> Members<'a> {
    /// The next member's key and where its value begins.
    fn next(&mut self) -> Option<(&'a [u8], usize)> {
        let b = self.b;
        let mut i = space(b, self.at);
        let before = if self.begun { b',' } else { b'{' };
        if b.get(i) == Some(&before) {
            i = space(b, i + 1);
        } else if !self.begun {
            return None;
        }
        self.begun = true;
        if b.get(i) != Some(&b'"') {
            return None;
        }
        let end = string(b, i);
        let key = b.get(i + 1..end - 1).unwrap_or(&[]);
        i = space(b, end);
        if b.get(i) != Some(&b':') {
            return None;
        }
        Some((key, space(b, i + 1)))
    }
}

fn space(b: &[u8], mut i: usize) -> usize {
    while i < b.len() && b[i].is_ascii_whitespace() {
        i += 1;
    }
    i
}

fn string(b: &[u8], mut i: usize) -> usize {
    i += 1;
    while i < b.len() && b[i] != b'"' {
        i += if b[i] == b'\\' { 2 } else { 1 };
    }
    (i + 1).min(b.len())
}

/// The end of the value that begins at i.
fn skip(b: &[u8], mut i: usize) -> usize {
    let mut depth = 0;
    loop {
        match b.get(i) {
            None => return b.len(),
            Some(b'"') => i = string(b, i),
            Some(b'{') | Some(b'[') => {
                depth += 1;
                i += 1
            }
            Some(b'}') | Some(b']') => {
                depth -= 1;
                i += 1
            }
            Some(b',') | Some(b':') if depth > 0 => i += 1,
            _ => {
                while i < b.len() && !matches!(b[i], b',' | b'}' | b']') && !b[i].is_ascii_whitespace() {
                    i += 1;
                }
            }
        }
        if depth <= 0 {
            return i;
        }
        i = space(b, i);
    }
}

/// What the host offers. `log` needs `grant "log" {}` in the pipeline file.
pub mod host {
    #[link(wasm_import_module = "pipeline")]
    extern "C" {
        fn log(level: i32, text: *const u8, n: usize, fields: *const u8, fields_n: usize);
        fn now() -> i64;
        fn random(p: *mut u8, n: usize);
    }

    /// Writes a log line; fields is a JSON object, or empty.
    pub fn info(text: &str, fields: &str) {
        unsafe { log(0, text.as_ptr(), text.len(), fields.as_ptr(), fields.len()) }
    }

    /// The time of the delivery in milliseconds.
    pub fn now_ms() -> i64 {
        unsafe { now() }
    }

    /// Random bytes; the same entry gives the same ones.
    pub fn fill(p: &mut [u8]) {
        unsafe { random(p.as_mut_ptr(), p.len()) }
    }
}

static mut INPUT: Vec<u8> = Vec::new();
static mut OUTPUT: String = String::new();

#[no_mangle]
pub extern "C" fn pipeline_abi_1() {}

/// The input buffer. It stays where it is until a larger one is asked for.
#[no_mangle]
pub unsafe extern "C" fn pipeline_alloc(size: usize) -> *mut u8 {
    let input = &mut *std::ptr::addr_of_mut!(INPUT);
    if input.capacity() == 0 {
        std::panic::set_hook(Box::new(panicked)); // the first call of an instance
    }
    *input = Vec::with_capacity(size);
    input.as_mut_ptr()
}

/// Runs a handler; `handler!` calls it.
pub unsafe fn run(p: *const u8, n: usize, f: fn(Json) -> Option<Outcome>) -> u64 {
    match f(Json(std::slice::from_raw_parts(p, n))) {
        Some(Outcome::Ack) => 0,
        Some(Outcome::Retry) => 1,
        Some(Outcome::Dead) => 2,
        Some(Outcome::Drop) => 3,
        Some(Outcome::Json(text)) => {
            let output = &mut *std::ptr::addr_of_mut!(OUTPUT);
            *output = text;
            (output.as_ptr() as u64) << 32 | output.len() as u64
        }
        None => {
            complain("the entry lacks what the handler needs");
            std::process::abort()
        }
    }
}

/// Says why the handler ends: the first line that a module writes to standard
/// error is part of the message of a failed attempt.
fn complain(text: &str) {
    #[repr(C)]
    struct Piece {
        p: *const u8,
        n: usize,
    }
    #[link(wasm_import_module = "wasi_snapshot_preview1")]
    extern "C" {
        fn fd_write(fd: i32, pieces: *const Piece, n: usize, written: *mut usize) -> i32;
    }
    let line = text.replace('\n', " ") + "\n";
    let mut written = 0;
    unsafe { fd_write(2, &Piece { p: line.as_ptr(), n: line.len() }, 1, &mut written) };
}

fn panicked(info: &std::panic::PanicInfo) {
    let payload = info.payload();
    let words = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(|s| s.as_str())).unwrap_or("panicked");
    match info.location() {
        Some(place) => complain(&format!("{} ({}:{})", words, place.file(), place.line())),
        None => complain(words),
    }
}

/// Defines and exports a handler function.
#[macro_export]
macro_rules! handler {
    ($name:ident, $f:expr) => {
        #[no_mangle]
        pub unsafe extern "C" fn $name(p: *const u8, n: usize) -> u64 {
            pipeline::run(p, n, $f)
        }
    };
}
