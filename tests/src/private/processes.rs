//! What a server has started, and how its own process ends.

use std::{
    collections::BTreeMap,
    fs,
    process::Child,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::LIMIT;

/// SIGKILL, and returns when it is dead.
pub(super) fn kill(process: &mut Child) {
    // Dead already is as good.
    let _ = process.kill();
    process.wait().unwrap();
}

/// Asks it to end, and returns when it has; false when it takes too long.
pub(super) fn stop(process: &mut Child, signal: Signal) -> bool {
    // Its number is another's once it has been waited for.
    if process.try_wait().unwrap().is_none() {
        kill_process(Pid::from_child(process), signal).unwrap();
    }
    until(|| process.try_wait().unwrap().is_some())
}

/// This process and all that it has started; none when it has ended.
pub(super) fn family(process: &mut Child) -> Vec<u32> {
    if process.try_wait().unwrap().is_some() {
        return Vec::new();
    }
    let parents = parents();
    let mut family = vec![process.id()];
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        family.extend(parents.iter().filter(|(_, of)| **of == parent).map(|(child, _)| *child));
        next += 1;
    }
    family
}

/// Waits until none of these lives; false when that takes too long.
pub(super) fn wait_for_end(processes: &[u32]) -> bool {
    until(|| {
        let living = parents();
        processes.iter().all(|process| !living.contains_key(process))
    })
}

fn until(mut over: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        if over() {
            return true;
        }
        if begun.elapsed() > LIMIT {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Each living process with its parent.
fn parents() -> BTreeMap<u32, u32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    // One that is gone meanwhile is not there.
    processes.filter_map(|pid| Some((pid, parent(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?))).collect()
}

/// From the line of `/proc/PID/stat`: `PID (NAME) STATE PARENT …`, where the name may hold anything.
fn parent(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let (state, rest) = rest.split_once(' ')?;
    // A zombie waits for nothing but its parent.
    if state == "Z" || state == "X" {
        return None;
    }
    rest.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parent;

    #[test]
    fn a_name_cannot_be_taken_for_the_state() {
        assert_eq!(parent("12 (a) Z 1 (b)) S 7 12 12 0"), Some(7));
        assert_eq!(parent("12 (beam.smp) Z 7 12 12 0"), None);
    }
}
