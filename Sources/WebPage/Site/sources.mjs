// What a stream can be switched to, as menus that people read, and what is shown of how it stands. Pure.

/** The groups of the menu of pictures, in their order, by the kind of device. */
const PICTURES = [["camera", "Cameras"], ["screen", "Screens"], ["window", "Windows"]];
/** Where the level meter begins, in dBFS. */
const QUIETEST = -60;

/**
 * The menus of pictures and of sound.
 *
 * @param {{devices: object[], generators: object[]}} list As `/api/devices` tells it.
 * @param {{video?: string, audio?: string, started: {video?: string, audio?: string}}} source As the stream tells it.
 * @returns {{video: object[], audio: object[]}} Groups: `{label, options: [{value, label, isChosen, isDisabled}]}`.
 */
export function menus(list, source) {
  const of = (kind) => list.devices.filter((device) => device.kind === kind).map(deviceOption);
  const made = (kind) => list.generators.filter((generator) => generator.kind === kind)
    .map(({ specification, name }) => ({ value: specification, label: name }));
  return {
    video: menu([...PICTURES.map(([kind, label]) => ({ label, options: of(kind) })), { label: "Drawn", options: made("video") }],
      source.video, source.started.video),
    audio: menu([{ label: "Microphones", options: of("microphone") }, { label: "Without a microphone", options: made("audio") }],
      source.audio, source.started.audio),
  };
}

function deviceOption(device) {
  return {
    value: device.specification, label: device.name, isDisabled: device.problem != null,
    ...(device.problem != null && { label: `${device.name} (${device.problem})` }),
  };
}

function menu(groups, present, started) {
  const isListed = (value) => groups.some(({ options }) => options.some((option) => option.value === value));
  // What the stream began with can be gone back to, and what it has now is always there to be seen.
  const others = [...new Set([started, present])].filter((value) => value && !isListed(value));
  const all = [...groups, { label: "Others", options: others.map((value) => ({ value, label: nameOf(value) })) }];
  return all.filter(({ options }) => options.length > 0).map(({ label, options }) => ({
    label,
    options: options.map((option) => ({
      isDisabled: false, ...option, isChosen: option.value === present,
      ...(option.value === present && { isDisabled: false }),
    })),
  }));
}

/** "auto" as people read it; other names as they are. */
function nameOf(value) {
  return value === "auto" ? "What fits the picture" : value;
}

/** How much of the meter a level fills: 0 to 1. */
export function levelShare(decibels) {
  if (!Number.isFinite(decibels)) return 0;
  return Math.min(1, Math.max(0, 1 - decibels / QUIETEST));
}

/** A level as people read it. */
export function levelText(decibels) {
  return decibels > QUIETEST ? `${Math.round(decibels)} dB` : "silent";
}

/** A quarter further, clockwise. */
export function nextRotation(rotation) {
  return (rotation + 90) % 360;
}

/**
 * The controls of a camera that can be set by hand.
 *
 * @param {object[]} list As the stream tells them.
 */
export function adjustable(list = []) {
  return list.filter(({ readOnly, kind, minimum, maximum }) => !readOnly && (kind !== "integer" || maximum > minimum));
}
