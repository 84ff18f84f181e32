#!/usr/bin/env bash
# A audio server of the test's own with one microphone, into which a file is spoken over and over. Prints "ready" when
# it is heard, and lasts until it is ended.
#
# usage: pulse_microphone.sh FOLDER FILE.wav
#
# Clients find it by PULSE_SERVER=unix:FOLDER/native. No sound card, no D-Bus; being root is fine.
set -euo pipefail
folder=$1
audio=$2
export HOME=$folder XDG_RUNTIME_DIR=$folder XDG_CONFIG_HOME=$folder PULSE_RUNTIME_PATH=$folder/runtime
export PULSE_SERVER=unix:$folder/native
mkdir -p "$folder/runtime"
chmod 700 "$folder" "$folder/runtime"
rm -f "$folder/native"
pulseaudio -n --daemonize=no --use-pid-file=no --exit-idle-time=-1 --disable-shm=yes --realtime=no \
  --high-priority=no --log-level=error \
  -L "module-native-protocol-unix socket=$folder/native auth-anonymous=1" \
  -L 'module-null-sink sink_name=mouth' \
  -L 'module-remap-source source_name=microphone master=mouth.monitor' &
server=$!
trap 'kill -9 "$server" 2>/dev/null' EXIT
trap 'exit 0' TERM INT
for _ in $(seq 200); do
  pactl set-default-source microphone 2>/dev/null && break
  sleep 0.05
done
echo ready
while kill -0 "$server" 2>/dev/null; do
  paplay --device=mouth "$audio" &
  wait $! || break
done
