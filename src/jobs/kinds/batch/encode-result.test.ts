import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeResponse, encodeExpired, encodeLineError } from './encode-result.ts';

const LINE_ID = { line: 3, customId: '1' };
const RESPONSE = {
  requestId: 'RID',
  body: { object: 'chat.completion' },
  headers: undefined,
  error: undefined,
  retryAfterSeconds: undefined,
};

test('encodeResponse writes a success to the output file', () => {
  assert.deepEqual(encodeResponse(LINE_ID, { ...RESPONSE, status: 200 }), {
    line: 3,
    kind: 'output',
    json: '{"id":"RID","custom_id":"1","response":{"status_code":200,"request_id":"RID","body":{"object":"chat.completion"}},"error":null}',
  });
});

test('encodeResponse adds Parley headers beside the body', () => {
  const headers = { 'x-parley-ignored': 'logit_bias' };
  assert.deepEqual(JSON.parse(encodeResponse(LINE_ID, { ...RESPONSE, status: 200, headers }).json), {
    id: 'RID',
    custom_id: '1',
    response: { status_code: 200, request_id: 'RID', body: RESPONSE.body, headers },
    error: null,
  });
});

test('encodeResponse writes an error response to the error file', () => {
  const error = { code: 'invalid_parameter_error', message: 'No.' };
  assert.deepEqual(encodeResponse(LINE_ID, { ...RESPONSE, status: 400, body: { error }, error }), {
    line: 3,
    kind: 'error',
    json: '{"id":"RID","custom_id":"1","response":{"status_code":400,"request_id":"RID","body":{"error":{"code":"invalid_parameter_error","message":"No."}}},"error":{"code":"invalid_parameter_error","message":"No."}}',
  });
});

test('encodeLineError reports line number and error without a response', () => {
  const fault = { code: 'invalid_json_line', message: 'No JSON.', param: undefined };
  assert.deepEqual(encodeLineError({ line: 3, customId: undefined, id: 'RID' }, fault), {
    line: 3,
    kind: 'error',
    json: '{"id":"RID","custom_id":null,"response":null,"error":{"code":"invalid_json_line","message":"No JSON.","line":3}}',
  });
});

test('encodeExpired reports an expired batch', () => {
  assert.deepEqual(encodeExpired({ ...LINE_ID, id: 'RID' }), {
    line: 3,
    kind: 'error',
    json: '{"id":"RID","custom_id":"1","response":null,"error":{"code":"batch_expired","message":"This request could not be executed before the batch expired."}}',
  });
});
