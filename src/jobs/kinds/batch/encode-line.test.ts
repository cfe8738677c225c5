import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeAnswer, encodeExpired, encodeFault } from './encode-line.ts';

const PLACE = { line: 3, customId: '1' };
const ANSWER = {
  requestId: 'RID',
  body: { object: 'chat.completion' },
  headers: undefined,
  error: undefined,
  retryAfterSeconds: undefined,
};

test('a good answer is a line of the output file, as wire.md E9.3 has it', () => {
  assert.deepEqual(encodeAnswer(PLACE, { ...ANSWER, status: 200 }), {
    line: 3,
    kind: 'output',
    json: '{"id":"RID","custom_id":"1","response":{"status_code":200,"request_id":"RID","body":{"object":"chat.completion"}},"error":null}',
  });
});

test('what a live answer tells in headers of ours stands beside the body', () => {
  const headers = { 'x-parley-ignored': 'logit_bias' };
  assert.deepEqual(JSON.parse(encodeAnswer(PLACE, { ...ANSWER, status: 200, headers }).json), {
    id: 'RID',
    custom_id: '1',
    response: { status_code: 200, request_id: 'RID', body: ANSWER.body, headers },
    error: null,
  });
});

test('a refusal is a line of the error file, with the answer and what it says', () => {
  const error = { code: 'invalid_parameter_error', message: 'No.' };
  assert.deepEqual(encodeAnswer(PLACE, { ...ANSWER, status: 400, body: { error }, error }), {
    line: 3,
    kind: 'error',
    json: '{"id":"RID","custom_id":"1","response":{"status_code":400,"request_id":"RID","body":{"error":{"code":"invalid_parameter_error","message":"No."}}},"error":{"code":"invalid_parameter_error","message":"No."}}',
  });
});

test('a line that cannot be run says where it stands and why, without an answer', () => {
  const fault = { code: 'invalid_json_line', message: 'No JSON.', param: undefined };
  assert.deepEqual(encodeFault({ line: 3, customId: undefined, id: 'RID' }, fault), {
    line: 3,
    kind: 'error',
    json: '{"id":"RID","custom_id":null,"response":null,"error":{"code":"invalid_json_line","message":"No JSON.","line":3}}',
  });
});

test('a line that came too late says so', () => {
  assert.deepEqual(encodeExpired({ ...PLACE, id: 'RID' }), {
    line: 3,
    kind: 'error',
    json: '{"id":"RID","custom_id":"1","response":null,"error":{"code":"batch_expired","message":"This request could not be executed before the batch expired."}}',
  });
});
