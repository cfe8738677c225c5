import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wantsStream, wantsTask } from './wants-stream.ts';

test('a stream is asked for by either header in any case, or by what is accepted', () => {
  for (const headers of [
    { 'x-dashscope-sse': 'enable' },
    { 'x-svc-sse': 'Enable', accept: '*/*' },
    { 'x-dashscope-sse': ' ENABLE ' },
    { accept: 'text/event-stream' },
    { accept: 'application/json, Text/Event-Stream;q=0.5' },
  ]) {
    assert.ok(wantsStream(headers), JSON.stringify(headers));
  }
  for (const headers of [
    {},
    { 'x-dashscope-sse': 'disable' },
    { 'x-svc-sse': '' },
    { accept: 'application/json; charset=utf-8' },
    { accept: '*/*' },
    { accept: 'text/event-streams' },
  ]) {
    assert.ok(!wantsStream(headers), JSON.stringify(headers));
  }
});

test('a task is asked for in the same way', () => {
  assert.ok(wantsTask({ 'x-dashscope-async': 'enable' }));
  assert.ok(wantsTask({ 'x-svc-async': 'ENABLE' }));
  assert.ok(!wantsTask({ 'x-dashscope-async': 'false' }));
});
