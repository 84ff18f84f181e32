// Formatting of numbers and names for display. Pure.

/** 2300000 as "2.3 Mb/s". */
export function bitrate(bitsPerSecond) {
  if (bitsPerSecond == null) return "–";
  return bitsPerSecond < 1e6 ? `${Math.round(bitsPerSecond / 1e3)} kb/s` : `${(bitsPerSecond / 1e6).toFixed(1)} Mb/s`;
}

/** 12345678 as "12.3 MB", with a no-break space. */
export function bytes(count) {
  const units = ["kB", "MB", "GB", "TB"];
  let value = count / 1000, unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit > 0 && value < 99.95 ? value.toFixed(1) : value.toFixed(0)}\u00a0${units[unit]}`;
}

/** 3723.9 as "1:02:03", rounded down to whole seconds. */
export function duration(seconds) {
  const whole = Math.floor(seconds), two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

export function files(count) {
  return count === 1 ? "1 file" : `${count} files`;
}

/** 0.8234 as "0.82 s". */
export function seconds(value) {
  if (value == null) return "–";
  return `${value < 10 ? value.toFixed(2) : value.toFixed(0)} s`;
}

/** 29.94 as "29.9 fps", 29.97 as "30 fps". */
export function frameRate(value) {
  if (value == null) return "–";
  const rounded = Math.round(value * 10) / 10;
  return `${Number.isInteger(rounded) ? rounded : rounded.toFixed(1)} fps`;
}

/** "1280 × 720", with thin spaces. */
export function size(width, height) {
  return width && height ? `${width}\u2009×\u2009${height}` : "–";
}

export function viewers(count) {
  return count === 1 ? "1 viewer" : `${count} viewers`;
}

/** "avc1.64001f" as "H.264 High", "mp4a.40.2" as "AAC"; unknown names unchanged. */
export function codec(name) {
  if (!name) return "";
  const profiles = { 42: "Baseline", "4d": "Main", 64: "High" };
  const avc = /^avc[13]\.([0-9a-f]{2})/i.exec(name);
  if (avc) return ["H.264", profiles[avc[1].toLowerCase()]].filter(Boolean).join(" ");
  return name.startsWith("mp4a.40") ? "AAC" : name;
}

/** The protocol of a way to play. */
export function way(name, isOverTCP = false) {
  if (name === "webrtc" && isOverTCP) return "WebRTC over TCP";
  return { webrtc: "WebRTC, real time", stream: "HLS, low latency", native: "HLS", images: "Motion JPEG" }[name] ?? "–";
}

/** The file name of a snapshot: "hello 2026-11-21 07.41.03.jpg". */
export function snapshotName(stream, date) {
  const two = (number) => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${stream} ${day} ${two(date.getHours())}.${two(date.getMinutes())}.${two(date.getSeconds())}.jpg`;
}
