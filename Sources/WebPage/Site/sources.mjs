// Menus of video and audio sources, level meter, rotation and camera controls. Pure.

/** Groups of the video menu in order: kind of device and label. */
const VIDEO_GROUPS = [["camera", "Cameras"], ["screen", "Screens"], ["window", "Windows"]];
/** Minimum of the level meter, in dBFS. */
const MINIMUM_LEVEL = -60;

/**
 * The menus of video and audio sources.
 *
 * @param {{devices: object[], generators: object[]}} list Response of `/api/devices`.
 * @param {{video?: string, audio?: string, started: {video?: string, audio?: string}}} source The `source` of the stream.
 * @returns {{video: object[], audio: object[]}} Groups: `{label, options: [{value, label, isChosen, isDisabled}]}`.
 */
export function menus(list, source) {
  const of = (kind) => list.devices.filter((device) => device.kind === kind).map(deviceOption);
  const generated = (kind) => list.generators.filter((generator) => generator.kind === kind)
    .map(({ specification, name }) => ({ value: specification, label: name }));
  return {
    video: menu([...VIDEO_GROUPS.map(([kind, label]) => ({ label, options: of(kind) })), { label: "Test patterns", options: generated("video") }],
      source.video, source.started.video),
    audio: menu([{ label: "Microphones", options: of("microphone") }, { label: "Without a microphone", options: generated("audio") }],
      source.audio, source.started.audio),
  };
}

function deviceOption(device) {
  return {
    value: device.specification, label: device.name, isDisabled: device.problem != null,
    ...(device.problem != null && { label: `${device.name} (${device.problem})` }),
  };
}

function menu(groups, current, started) {
  const isListed = (value) => groups.some(({ options }) => options.some((option) => option.value === value));
  // Adds the initial source, so that it can be restored, and the current one.
  const others = [...new Set([started, current])].filter((value) => value && !isListed(value));
  const all = [...groups, { label: "Other", options: others.map((value) => ({ value, label: nameOf(value) })) }];
  return all.filter(({ options }) => options.length > 0).map(({ label, options }) => ({
    label,
    options: options.map((option) => ({
      isDisabled: false, ...option, isChosen: option.value === current,
      ...(option.value === current && { isDisabled: false }),
    })),
  }));
}

/** The label of a specification: the name of a file, the host of an address, a text for "auto", else the specification. */
export function nameOf(value) {
  if (value === "auto") return "Default for the video";
  const address = /^([a-z]+):\/\/(?:[^/]*@)?([^/?#]+)/i.exec(value);
  if (address) return `${address[2]} (${address[1]})`;
  return value.startsWith("file:") ? value.slice(5).split("/").pop() || value : value;
}

/** Filled share of the meter at a level in dBFS, 0 to 1. */
export function levelShare(decibels) {
  if (!Number.isFinite(decibels)) return 0;
  return Math.min(1, Math.max(0, 1 - decibels / MINIMUM_LEVEL));
}

/** The text of a level in dBFS. */
export function levelText(decibels) {
  return decibels > MINIMUM_LEVEL ? `${Math.round(decibels)} dB` : "silent";
}

/** The rotation 90° further clockwise. */
export function nextRotation(rotation) {
  return (rotation + 90) % 360;
}

/**
 * The camera controls that can be changed.
 *
 * @param {object[]} list The `controlList` of the stream.
 */
export function adjustable(list = []) {
  return list.filter(({ readOnly, kind, minimum, maximum }) => !readOnly && (kind !== "integer" || maximum > minimum));
}
