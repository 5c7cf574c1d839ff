//! Compiling a module, and what has to be true of it.

use std::borrow::Cow;

use wasmi::{
    CompilationMode, Config, Engine, Error, ExternType, FuncType, Instance, Linker, Module, Store,
    ValType,
};

use super::{
    super::{MEMORY_BYTES_MAX, MODULE_BYTES_MAX},
    host::{self, Host},
    size, start, wasi,
};
use crate::dialect::Findings;

/// The exported memory.
pub(super) const MEMORY: &str = "memory";

/// The codes of what is wrong with a module.
pub(in crate::wasm) const UNREADABLE: &str = "W101";
const MISSING_EXPORT: &str = "W102";
const TYPE_OF_EXPORT: &str = "W103";
const FOREIGN_IMPORT: &str = "W104";
const TYPE_OF_IMPORT: &str = "W105";
const TOO_MUCH_MEMORY: &str = "W106";
const NO_INSTANCE: &str = "W107";

/// Where a finding about a module is.
const LOCATION: &str = "wasm.module";

/// How many imports a module may have.
const IMPORTS_MAX: usize = 1_000;

/// How deep calls may be nested, and how many bytes their values may take.
const DEPTH_MAX: usize = 1_000;
const STACK_BYTES_MAX: usize = 1 << 20;

const PAGE_BYTES: u64 = 64 << 10;

/// The first bytes of a binary module.
const MAGIC: &[u8] = b"\0asm";

/// What a module may import: the module and the name, the parameters and the results.
pub(super) type Import = (
    &'static str,
    &'static str,
    &'static [ValType],
    &'static [ValType],
);

use ValType::{I32, I64};

/// The exports that are called, if they are there.
const CALLED: [(&str, &[ValType], &[ValType]); 6] = [
    ("alloc", &[I32], &[I32]),
    ("dealloc", &[I32, I32], &[]),
    ("init", &[], &[I32]),
    ("describe", &[], &[I64]),
    ("_initialize", &[], &[]),
    (start::NAME, &[], &[]),
];

/// Those that have to be there, besides the entry point and the memory.
const REQUIRED: [&str; 2] = ["alloc", "dealloc"];

/// A module that is ready for calls.
///
/// Each has an engine of its own: what an engine has compiled is freed with the engine only.
pub(in crate::wasm) struct Compiled {
    module: Module,
    linker: Linker<Host>,
    engine: Engine,
    /// The bytes of the binary form.
    bytes: usize,
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Compiled({} bytes)", self.bytes)
    }
}

/// Compiles a module in either form.
pub(in crate::wasm) fn compile(bytes: &[u8]) -> Result<Compiled, Findings> {
    let mut findings = Findings::default();
    let compiled = compiled(bytes, &mut findings);
    match compiled {
        Some(compiled) if !findings.has_errors() => Ok(compiled),
        _ => Err(findings),
    }
}

fn compiled(bytes: &[u8], findings: &mut Findings) -> Option<Compiled> {
    if bytes.len() > MODULE_BYTES_MAX {
        let message = format!("the module is larger than {MODULE_BYTES_MAX} bytes");
        findings.error(UNREADABLE, LOCATION, message);
        return None;
    }
    let binary = binary(bytes, findings)?;
    if let Err(why) = size::check(&binary) {
        findings.error(
            UNREADABLE,
            LOCATION,
            format!("the module is too large: {why}"),
        );
        return None;
    }
    let binary = start::exported(&binary).map_or(binary, Cow::Owned);
    let engine = Engine::new(&config());
    let module = match Module::new(&engine, &binary) {
        Ok(module) => module,
        Err(error) => {
            let message = format!("the module is not valid: {error}");
            findings.error(UNREADABLE, LOCATION, message);
            return None;
        }
    };
    check_imports(&module, findings);
    check_exports(&module, findings);
    if findings.has_errors() {
        return None;
    }
    let linker = match linker(&engine) {
        Ok(linker) => linker,
        Err(error) => {
            findings.error(NO_INSTANCE, LOCATION, error.to_string());
            return None;
        }
    };
    Some(Compiled {
        module,
        linker,
        engine,
        bytes: binary.len(),
    })
}

/// The binary form; a text is translated.
fn binary<'a>(bytes: &'a [u8], findings: &mut Findings) -> Option<Cow<'a, [u8]>> {
    if bytes.starts_with(MAGIC) {
        return Some(Cow::Borrowed(bytes));
    }
    match wat::parse_bytes(bytes) {
        Ok(binary) if binary.len() <= MODULE_BYTES_MAX => Some(binary),
        Ok(_) => {
            let message = format!("the module is larger than {MODULE_BYTES_MAX} bytes");
            findings.error(UNREADABLE, LOCATION, message);
            None
        }
        Err(error) => {
            let message = format!(
                "the module is neither a binary module nor text in the WebAssembly text format: \
                 {error}"
            );
            findings.error(UNREADABLE, LOCATION, message);
            None
        }
    }
}

fn config() -> Config {
    let mut config = Config::default();
    config
        .consume_fuel(true)
        .compilation_mode(CompilationMode::Eager)
        .ignore_custom_sections(true)
        .allow_start_fn(false)
        .wasm_multi_memory(false)
        .set_max_recursion_depth(DEPTH_MAX)
        .set_max_stack_height(STACK_BYTES_MAX);
    config
}

fn linker(engine: &Engine) -> Result<Linker<Host>, Error> {
    let mut linker = Linker::new(engine);
    host::define(&mut linker)?;
    wasi::define(&mut linker)?;
    Ok(linker)
}

fn check_imports(module: &Module, findings: &mut Findings) {
    let imports = module.imports();
    if imports.len() > IMPORTS_MAX {
        let message = format!("the module has more than {IMPORTS_MAX} imports");
        findings.error(FOREIGN_IMPORT, LOCATION, message);
        return;
    }
    for import in imports {
        let (from, name) = (import.module(), import.name());
        let mut known = host::IMPORTS.iter().chain(wasi::IMPORTS);
        let known = known.find(|(module, function, ..)| *module == from && *function == name);
        let Some((_, _, parameters, results)) = known else {
            let message = format!(
                "\"{from}\".\"{name}\" cannot be imported; a module may import functions of \
                 \"{}\" and \"{}\"",
                host::MODULE,
                wasi::MODULE,
            );
            findings.error(FOREIGN_IMPORT, LOCATION, message);
            continue;
        };
        if !is_function(import.ty(), parameters, results) {
            let expected = signature(parameters, results);
            let message =
                format!("\"{from}\".\"{name}\" is imported with another type than {expected}");
            findings.error(TYPE_OF_IMPORT, LOCATION, message);
        }
    }
}

fn check_exports(module: &Module, findings: &mut Findings) {
    for (name, parameters, results) in CALLED {
        check_function(
            module,
            name,
            (parameters, results),
            REQUIRED.contains(&name),
            findings,
        );
    }
    match module.get_export(MEMORY) {
        Some(ExternType::Memory(memory)) => {
            let bytes = memory.minimum().saturating_mul(PAGE_BYTES);
            check_memory(bytes, MEMORY_BYTES_MAX, findings);
        }
        Some(_) => {
            let message = "the export \"memory\" must be a memory";
            findings.error(TYPE_OF_EXPORT, LOCATION, message);
        }
        None => missing(MEMORY, "a memory", findings),
    }
}

fn check_memory(bytes: u64, max: u64, findings: &mut Findings) {
    if bytes > max {
        let message = format!("the module needs {bytes} bytes of memory; it may have {max}");
        findings.error(TOO_MUCH_MEMORY, LOCATION, message);
    }
}

fn check_function(
    module: &Module,
    name: &str,
    (parameters, results): (&[ValType], &[ValType]),
    is_required: bool,
    findings: &mut Findings,
) {
    let expected = signature(parameters, results);
    match module.get_export(name) {
        Some(export) if is_function(&export, parameters, results) => {}
        Some(_) => {
            let message = format!("the export \"{name}\" must be a function of type {expected}");
            findings.error(TYPE_OF_EXPORT, LOCATION, message);
        }
        None if is_required => missing(name, &format!("a function of type {expected}"), findings),
        None => {}
    }
}

fn missing(name: &str, what: &str, findings: &mut Findings) {
    let message = format!("the module does not export \"{name}\", {what}");
    findings.error(MISSING_EXPORT, LOCATION, message);
}

fn is_function(found: &ExternType, parameters: &[ValType], results: &[ValType]) -> bool {
    let is_expected = |found: &FuncType| found.params() == parameters && found.results() == results;
    found.func().is_some_and(is_expected)
}

/// Such as `(i32, i32) -> i64`.
fn signature(parameters: &[ValType], results: &[ValType]) -> String {
    let list = |types: &[ValType]| {
        let types = types.iter().map(|one| format!("{one:?}").to_lowercase());
        types.collect::<Vec<_>>().join(", ")
    };
    format!("({}) -> ({})", list(parameters), list(results))
}

impl Compiled {
    /// The bytes of the module.
    pub(in crate::wasm) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Checks what an action says about the module.
    pub(in crate::wasm) fn check_action(
        &self,
        entrypoint: &str,
        memory_bytes_max: u64,
        findings: &mut Findings,
    ) {
        let types: (&[ValType], &[ValType]) = (&[I32, I32], &[I64]);
        check_function(&self.module, entrypoint, types, true, findings);
        if memory_bytes_max > MEMORY_BYTES_MAX {
            let message = format!("must be at most {MEMORY_BYTES_MAX}");
            findings.error(TOO_MUCH_MEMORY, "wasm.memoryLimitBytes", message);
            return;
        }
        if let Some(ExternType::Memory(memory)) = self.module.get_export(MEMORY) {
            let bytes = memory.minimum().saturating_mul(PAGE_BYTES);
            check_memory(bytes, memory_bytes_max, findings);
        }
        if findings.has_errors() {
            return;
        }
        // Nothing of the module runs: its tables are made and its data is copied.
        if let Err(error) = self.instantiate(Host::for_trial(memory_bytes_max)) {
            let message = format!("the module cannot be instantiated: {error}");
            findings.error(NO_INSTANCE, LOCATION, message);
        }
    }

    /// Makes an instance.
    pub(super) fn instantiate(&self, host: Host) -> Result<(Store<Host>, Instance), Error> {
        let mut store = Store::new(&self.engine, host);
        store.limiter(Host::limiter);
        let instance = self
            .linker
            .instantiate_and_start(&mut store, &self.module)?;
        Ok((store, instance))
    }
}
