//! Does what the command line says.

/// Faster than the system's where many small documents come and go (`help/design/limits.md` (a),
/// (e)).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    interlock::cli::run()
}
