# shellcheck shell=bash
# Sourced by tests/run: a private PostgreSQL that can answer in other languages.

# PostgreSQL translates its messages for the locales that the system knows; these are made in a folder of our own.
LOCALES=(de_DE fr_FR ja_JP)

# make_locales CACHE DIR: compiled once (seconds each), then copied to where the server's user can read them.
make_locales() {
    local cache=$1 dir=$2 name jobs=()
    mkdir -p "$cache" "$dir"
    for name in "${LOCALES[@]}"; do
        if [ ! -d "$cache/$name.UTF-8" ]; then
            # Built aside and renamed: another run may be doing the same.
            {
                # It fails for a mere warning; the tests ask the server whether it answers in these languages.
                { localedef -i "$name" -f UTF-8 "$dir/$name.UTF-8" || [ -d "$dir/$name.UTF-8" ]; } &&
                    cp -R "$dir/$name.UTF-8" "$cache/.$name.$$" &&
                    { mv -T "$cache/.$name.$$" "$cache/$name.UTF-8" 2>/dev/null || rm -rf "$cache/.$name.$$"; }
            } &
            jobs+=($!)
        else
            cp -R "$cache/$name.UTF-8" "$dir/"
        fi
    done
    local job status=0
    for job in "${jobs[@]}"; do wait "$job" || status=1; done
    return "$status"
}

# start_postgres BIN: sets POSTGRES_PID and INBOX_TEST_POSTGRES_URL.
start_postgres() {
    local bin=$1 data=$DIR/pg attempt port fast=(-c fsync=off -c synchronous_commit=off -c full_page_writes=off)
    [ "${INBOX_TESTS_DURABLE:-}" != 1 ] || fast=()
    # shellcheck disable=SC2153 # set by tests/run
    make_locales "$CACHE/locale" "$DIR/locale"
    mkdir "$data"
    own "$data" postgres
    as postgres "$bin/initdb" -D "$data" -U postgres -A trust -E UTF8 --locale=C --no-sync --no-instructions \
        >"$DIR/initdb.log" 2>&1 || give_up "initdb failed" "$DIR/initdb.log"
    for attempt in 1 2 3 4 5; do
        port=$(free_port)
        exec_as postgres env LOCPATH="$DIR/locale" "$bin/postgres" -D "$data" -p "$port" \
            -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
            "${fast[@]}" \
            -c max_connections=500 -c max_prepared_transactions=0 >"$DIR/postgres.log" 2>&1 </dev/null &
        POSTGRES_PID=$!
        # What pg_ctl looks at; the port alone could be somebody else's server.
        if wait_for "$POSTGRES_PID" grep -qs '^ready' "$data/postmaster.pid"; then
            export INBOX_TEST_POSTGRES_URL="postgres://postgres@127.0.0.1:$port/postgres?sslmode=disable"
            return 0
        fi
        stop "$POSTGRES_PID" QUIT
        POSTGRES_PID=
        echo "tests/run: PostgreSQL did not start on port $port (attempt $attempt)" >&2
    done
    give_up "PostgreSQL did not start" "$DIR/postgres.log"
}
