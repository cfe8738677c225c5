import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCallCompiler } from './call-program.ts';
import { TOOL_FORMATS } from './tool-formats.ts';

describe('createCallCompiler', () => {
  it('compiles each format once', () => {
    const compile = createCallCompiler();
    const program = compile(TOOL_FORMATS.hermes);
    assert.equal(compile(TOOL_FORMATS.hermes), program);
    assert.notEqual(compile(TOOL_FORMATS.mistral), program);
    assert.notEqual(compile({ ...TOOL_FORMATS.hermes }), program);
  });
});
