# shellcheck shell=bash
# Sourced by tests/run: finds what the tests need on this machine and, when allowed, installs it with apt-get.

# The newest folder with PostgreSQL's server programs.
find_postgres() {
    local bin
    bin=$(printf '%s\n' /usr/lib/postgresql/*/bin /usr/local/pgsql/bin | sort -V -r | while read -r dir; do
        [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ] && printf '%s\n' "$dir" && break
    done)
    [ -n "$bin" ] || bin=$(dirname "$(command -v postgres || true)")
    [ -x "$bin/initdb" ] && printf '%s\n' "$bin"
}

find_mariadbd() {
    PATH=$PATH:/usr/sbin:/usr/local/sbin command -v mariadbd
}

# The message catalogues (a minimal container image leaves them out) and the sources of the locales.
find_translations() {
    local bin=$1 catalogues
    catalogues=$("$bin/pg_config" --localedir 2>/dev/null || echo /usr/share/locale)
    compgen -G "$catalogues/de/LC_MESSAGES/postgres-*.mo" >/dev/null &&
        [ -e /usr/share/i18n/locales/de_DE ] && command -v localedef >/dev/null
}

# One Debian package a line, for everything that is missing.
missing_packages() {
    local bin
    bin=$(find_postgres) || bin=
    [ -n "$bin" ] || echo postgresql
    find_mariadbd >/dev/null || echo mariadb-server-core
    command -v mariadb-install-db >/dev/null && command -v my_print_defaults >/dev/null ||
        printf '%s\n' mariadb-server-core mariadb-client-core
    if [ -z "$bin" ]; then
        echo locales
    elif ! find_translations "$bin"; then
        # Installed without its catalogues: the package that ships them has to be unpacked again.
        printf '%s\n' locales "postgresql-$(basename "$(dirname "$bin")")"
    fi
    [ -x /usr/lib/rabbitmq/bin/rabbitmq-server ] || echo rabbitmq-server
    command -v cc >/dev/null || printf '%s\n' gcc libc6-dev
    command -v setpriv >/dev/null || echo util-linux
    # The program, for tests that send signals; the shell's own command does not help them.
    type -P kill >/dev/null || echo procps
}

# apt-get without starting a system service: policy-rc.d answers "not allowed" while it runs.
apt_install() (
    policy=/usr/sbin/policy-rc.d
    exec 9>/run/lock/inbox-tests-install.lock
    flock 9
    # shellcheck disable=SC2329 # the trap calls it
    restore() {
        if [ -e "$policy.inbox-tests" ]; then mv -f "$policy.inbox-tests" "$policy"; else rm -f "$policy"; fi
    }
    trap restore EXIT
    trap 'exit 130' INT TERM HUP
    # One of ours stands there when an earlier run was killed; anything else is the machine's own.
    if [ -e "$policy" ] && ! grep -qs 'inbox-tests' "$policy"; then mv -f "$policy" "$policy.inbox-tests"; fi
    printf '#!/bin/sh\n# By inbox-tests, while it installs.\nexit 101\n' >"$policy"
    chmod 755 "$policy"

    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq -o DPkg::Lock::Timeout=300 update
    apt-get -qq -y --no-install-recommends --reinstall -o DPkg::Lock::Timeout=300 \
        -o Dpkg::Options::=--path-include='/usr/share/locale/*/LC_MESSAGES/postgres*.mo' \
        -o Dpkg::Options::=--force-confold install "$@"
)

# Everything is there afterwards, or the run ends with the one command to type.
require_servers() {
    local packages
    mapfile -t packages < <(missing_packages | sort -u)
    [ ${#packages[@]} -gt 0 ] || return 0
    if [ "$(id -u)" = 0 ] && { [ -n "${CI:-}" ] || [ "${INBOX_TESTS_INSTALL:-}" = 1 ]; } &&
        command -v apt-get >/dev/null; then
        echo "tests/run: installing ${packages[*]}" >&2
        apt_install "${packages[@]}" </dev/null >&2
        mapfile -t packages < <(missing_packages | sort -u)
        [ ${#packages[@]} -gt 0 ] || return 0
        echo "tests/run: still missing after apt-get: ${packages[*]}" >&2
        return 1
    fi
    {
        echo "tests/run: missing on this machine: ${packages[*]}"
        if [ "$(id -u)" = 0 ]; then
            echo "Run:  INBOX_TESTS_INSTALL=1 tests/run"
        else
            echo "Run:  sudo INBOX_TESTS_INSTALL=1 tests/run --install"
        fi
    } >&2
    return 1
}
