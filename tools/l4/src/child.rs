//! Programs that end with the harness, whatever ends it: a signal that it cannot handle too
//! (invariant H4).

use std::ffi::OsStr;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a program is: on `PATH`, or in `/usr/sbin`, where Debian puts servers.
pub(crate) fn find(program: impl AsRef<OsStr>) -> Option<PathBuf> {
    let program = Path::new(program.as_ref());
    if program.components().count() > 1 {
        return program.exists().then(|| program.to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into()])
        .map(|folder| folder.join(program))
        .find(|file| file.exists())
}

/// A command that is killed when the thread that spawned it ends, however that ends; so the
/// thread has to outlive what it spawns.
pub(crate) fn leashed(program: impl AsRef<OsStr>) -> Result<Command> {
    let Some(file) = find(program) else {
        return Err(Error::new(ErrorKind::NotFound, "it is not installed"));
    };
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(file);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn what_was_started_ends_with_who_started_it() {
        let (told, child) = std::sync::mpsc::channel();
        let owner = std::thread::spawn(move || {
            let mut sleeper = leashed("sh").unwrap();
            sleeper.args(["-c", "echo; exec sleep 600"]);
            let mut child = sleeper
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            // Once it has spoken, it is on its leash.
            let mut line = [0; 1];
            std::io::Read::read_exact(&mut child.stdout.take().unwrap(), &mut line).unwrap();
            told.send(child).unwrap();
        });
        owner.join().unwrap();
        let mut child = child.recv().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn a_program_is_found_by_name_and_by_path_or_not_at_all() {
        assert!(find("sh").is_some_and(|file| file.is_absolute()));
        assert_eq!(find("/bin/sh"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(find("no-such-program"), None);
        assert!(leashed("/nowhere/no-such-program").is_err());
    }
}
