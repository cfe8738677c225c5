import { PRIORITIES } from '../core/context.ts';
import type { EmbeddingRequest } from './engine.ts';
import { isRecord } from '../lib/is-record.ts';

// Checks for requests that arrive on an engine's socket. Each function throws a RangeError that names the field and the
// rule.

export function parseObject(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw new RangeError(`${path} must be an object`);
  return value;
}

export function parseArray(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new RangeError(`${path} must be an array`);
  return value;
}

export function checkString(value: unknown, path: string): void {
  if (typeof value !== 'string') throw new RangeError(`${path} must be a string`);
}

export function checkOwner(request: Readonly<Record<string, unknown>>): void {
  const owner = parseObject(request['owner'], 'owner');
  checkString(owner['workspace'], 'owner.workspace');
  checkString(owner['key'], 'owner.key');
  const priority = owner['priority'];
  if (priority !== undefined && !PRIORITIES.some((known) => known === priority))
    throw new RangeError(`owner.priority must be one of ${PRIORITIES.join(', ')}`);
}

export function checkTextInputs(value: unknown, path: string): void {
  const texts = parseArray(value, path);
  if (texts.length === 0) throw new RangeError(`${path} must not be empty`);
  for (const [index, input] of texts.entries()) checkTextInput(input, `${path}[${index}]`);
}

export function checkTextInput(value: unknown, path: string): void {
  const input = parseObject(value, path);
  checkString(input['text'], `${path}.text`);
  checkString(input['field'], `${path}.field`);
}

export function parseEmbeddingRequest(body: unknown): EmbeddingRequest {
  const request = parseObject(body, 'the call');
  checkString(request['id'], 'id');
  checkOwner(request);
  checkTextInputs(request['inputs'], 'inputs');
  return body as EmbeddingRequest;
}
