# shellcheck shell=bash
# Sourced by tests/run: a private MariaDB.

# start_mariadb MARIADBD: sets MARIADB_PID and INBOX_TEST_MYSQL_URL.
start_mariadb() {
    local mariadbd=$1 data=$DIR/my attempt port flush=0
    [ "${INBOX_TESTS_DURABLE:-}" != 1 ] || flush=1
    mkdir "$data"
    own "$data" mysql
    as mysql mariadb-install-db --no-defaults --datadir="$data" --auth-root-authentication-method=normal \
        --skip-test-db >"$DIR/mariadb-install.log" 2>&1 ||
        give_up "mariadb-install-db failed" "$DIR/mariadb-install.log"
    for attempt in 1 2 3 4 5; do
        port=$(free_port)
        exec_as mysql "$mariadbd" --no-defaults --datadir="$data" --port="$port" --bind-address=127.0.0.1 \
            --socket="$data/my.sock" --pid-file="$data/my.pid" --skip-name-resolve --skip-log-bin \
            --innodb-flush-log-at-trx-commit="$flush" --innodb-buffer-pool-size=128M --max-connections=500 \
            --character-set-server=utf8mb4 >"$DIR/mariadb.log" 2>&1 </dev/null &
        MARIADB_PID=$!
        if wait_for "$MARIADB_PID" grep -qs 'ready for connections' "$DIR/mariadb.log"; then
            export INBOX_TEST_MYSQL_URL="mysql://root@127.0.0.1:$port/mysql?ssl-mode=disabled"
            return 0
        fi
        stop "$MARIADB_PID" KILL
        MARIADB_PID=
        echo "tests/run: MariaDB did not start on port $port (attempt $attempt)" >&2
    done
    give_up "MariaDB did not start" "$DIR/mariadb.log"
}
