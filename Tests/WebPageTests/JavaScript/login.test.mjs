import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { element, settle } from "./browser.mjs";
const { Login } = await import("../../../Sources/WebPage/Site/login.mjs");
const { operatorToken, setOperatorToken } = await import("../../../Sources/WebPage/Site/operator-token.mjs");

const STREAM = { role: "viewer", steerable: false, login: "password" };
const login = new Login();

beforeEach(() => {
  setOperatorToken(null);
  globalThis.isSecureContext = true;
});

test("the button is shown to those whom a login gives control", () => {
  for (const [stream, isHidden] of [
    [{}, false], [{ login: "token" }, false], [{ login: "none" }, true], [{ steerable: true }, true],
    [{ role: "operator" }, true], [{ role: "operator", login: "none" }, true],
  ]) {
    login.stream = { ...STREAM, ...stream };
    assert.equal(element("control").hidden, isHidden, JSON.stringify(stream));
  }
  setOperatorToken("token");
  login.stream = { ...STREAM, role: "operator", steerable: true };
  assert.deepEqual([element("control").hidden, element("control").textContent], [false, "End control"]);
});

test("where passwords are not accepted the dialog asks for the token", () => {
  login.stream = STREAM;
  assert.equal(element("login-name-field").hidden, false);
  assert.match(element("login-hint").textContent, /^Name and password/);
  element("login-name").value = "ben";
  login.stream = { ...STREAM, login: "token" };
  assert.equal(element("login-name-field").hidden, true);
  assert.equal(element("login-name").value, "");
  assert.equal(element("login-password-label").textContent, "Token");
  assert.match(element("login-hint").textContent, /Passwords are accepted over HTTPS only/);
});

test("the dialog says that the connection is not encrypted", () => {
  for (const isSecure of [true, false]) {
    globalThis.isSecureContext = isSecure;
    login.stream = STREAM;
    assert.equal(element("login-clear").hidden, isSecure);
  }
});

test("the page sends a token only after the server has accepted it", async () => {
  const sent = [];
  globalThis.fetch = async (_, { headers }) => {
    sent.push([operatorToken(), headers.Authorization]);
    const ok = headers.Authorization === "Bearer right";
    return { ok, status: ok ? 200 : 401, json: async () => ({ role: "operator" }), text: async () => "" };
  };
  element("login").close = () => {};
  for (const [token, expected] of [["wrong", null], [" right ", "right"]]) {
    element("login-password").value = token;
    element("login-form").onsubmit({ preventDefault() {} });
    for (let turn = 0; turn < 5; turn++) await settle();
    assert.equal(operatorToken(), expected);
    assert.equal(element("login-problem").hidden, expected !== null);
  }
  assert.deepEqual(sent, [[null, "Bearer wrong"], [null, "Bearer right"]]);
});
