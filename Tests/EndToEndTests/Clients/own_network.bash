# Functions for scripts that run the program in a network of their own. Need root.

# Runs the script again in a network without interfaces.
enter_own_network() {
  [ -z "${VIDICON_OWN_NETWORK:-}" ] || return 0
  VIDICON_OWN_NETWORK=1 exec unshare --net --mount "$0" "$@"
}

# Two interfaces, "near" and "far", so that there is a network elsewhere.
make_link() {
  ip link set lo up
  ip link add near type veth peer name far
  ip link set near up
  ip link set far up
}

# Serves bars and a tone on fixed ports until the script ends, and waits until the program answers.
#
# usage: serve PROGRAM HOST [OPTION...]
serve() {
  "$1" serve --json --source bars --audio tone --size 640x360 --fps 30 --rtsp-port 0 --http-port 8080 --webrtc-port 8189 \
    --no-discovery --cors '*' "${@:3}" > /dev/null &
  server=$!
  trap 'kill -INT $server; wait $server' EXIT
  for _ in $(seq 100); do
    curl -sf -o /dev/null "http://$2:8080/health" && break
    sleep 0.1
  done
}
