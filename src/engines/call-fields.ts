import { PRIORITIES } from '../core/context.ts';
import type { EmbeddingRequest } from './engine.ts';

// What calls over an engine's socket have in common. Each of these throws a RangeError naming the field and the rule.

export function objectOf(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new RangeError(`${at} must be an object`);
  return value as Readonly<Record<string, unknown>>;
}

export function listOf(value: unknown, at: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new RangeError(`${at} must be an array`);
  return value;
}

export function text(value: unknown, at: string): void {
  if (typeof value !== 'string') throw new RangeError(`${at} must be a string`);
}

export function parseOwner(call: Readonly<Record<string, unknown>>): void {
  const owner = objectOf(call['owner'], 'owner');
  text(owner['workspace'], 'owner.workspace');
  text(owner['key'], 'owner.key');
  const priority = owner['priority'];
  if (priority !== undefined && !PRIORITIES.some((each) => each === priority))
    throw new RangeError(`owner.priority must be one of ${PRIORITIES.join(', ')}`);
}

export function parseTexts(value: unknown, at: string): void {
  const texts = listOf(value, at);
  if (texts.length === 0) throw new RangeError(`${at} must not be empty`);
  for (const [index, each] of texts.entries()) parseText(each, `${at}[${index}]`);
}

export function parseText(value: unknown, at: string): void {
  const input = objectOf(value, at);
  text(input['text'], `${at}.text`);
  text(input['field'], `${at}.field`);
}

export function parseEmbeddingRequest(body: unknown): EmbeddingRequest {
  const request = objectOf(body, 'the call');
  text(request['id'], 'id');
  parseOwner(request);
  parseTexts(request['inputs'], 'inputs');
  return body as EmbeddingRequest;
}
