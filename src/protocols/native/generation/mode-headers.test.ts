import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isStreamRequested, isTaskRequested } from './mode-headers.ts';

test('recognizes a stream request by either header in any case, or by Accept', () => {
  for (const headers of [
    { 'x-dashscope-sse': 'enable' },
    { 'x-svc-sse': 'Enable', accept: '*/*' },
    { 'x-dashscope-sse': ' ENABLE ' },
    { accept: 'text/event-stream' },
    { accept: 'application/json, Text/Event-Stream;q=0.5' },
  ]) {
    assert.ok(isStreamRequested(headers), JSON.stringify(headers));
  }
  for (const headers of [
    {},
    { 'x-dashscope-sse': 'disable' },
    { 'x-svc-sse': '' },
    { accept: 'application/json; charset=utf-8' },
    { accept: '*/*' },
    { accept: 'text/event-streams' },
  ]) {
    assert.ok(!isStreamRequested(headers), JSON.stringify(headers));
  }
});

test('recognizes a task request by either header', () => {
  assert.ok(isTaskRequested({ 'x-dashscope-async': 'enable' }));
  assert.ok(isTaskRequested({ 'x-svc-async': 'ENABLE' }));
  assert.ok(!isTaskRequested({ 'x-dashscope-async': 'false' }));
});
