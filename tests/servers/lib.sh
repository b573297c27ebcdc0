# shellcheck shell=bash
# Sourced by tests/run: processes, ports and the temporary folder of one run.

# The user that a server runs as: its own one where it exists, nobody otherwise; the caller's when that is not root.
user_of() {
    if [ "$(id -u)" != 0 ]; then id -un; else id -un "$1" 2>/dev/null || echo nobody; fi
}

# own FOLDER USER
own() {
    [ "$(id -u)" != 0 ] || chown "$(user_of "$2")" "$1"
    chmod 700 "$1"
}

# exec_as USER COMMAND…: replaced by the command, so that after `exec_as … &` `$!` is the command's own pid. It dies
# with this script, however the script ends.
exec_as() {
    local user
    user=$(user_of "$1")
    shift
    if [ "$(id -u)" = 0 ]; then
        cd / && exec setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups --pdeathsig KILL -- \
            env HOME="$DIR" "$@"
    fi
    exec setpriv --pdeathsig KILL -- "$@"
}

as() (exec_as "$@")

# A port that nothing listens on, below the range that the kernel gives to clients. Another run may take it first:
# the caller tries again.
free_port() {
    local port
    while :; do
        port=$((15000 + (RANDOM * 32768 + RANDOM) % 15000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo "$port"
}

# wait_for PID COMMAND…: until the command succeeds, the process ends, or a minute is over.
wait_for() {
    local pid=$1 end=$((SECONDS + 60))
    shift
    until "$@"; do
        kill -0 "$pid" 2>/dev/null || return 1
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.05
    done
}

# stop PID SIGNAL: and wait, so that no zombie keeps the data folder "in use".
stop() {
    [ -n "$1" ] || return 0
    kill -"$2" "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
}

# give_up MESSAGE LOG
give_up() {
    { echo "tests/run: $1; the end of its log:" && tail -n 20 "$2"; } >&2
    exit 1
}
