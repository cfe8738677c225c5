import { PHASES_MAX, TRIGGERS_MAX } from '../../core/limits.ts';
import { compileTrigger } from '../triggers.ts';
import { listOf, objectOf, parseOwner, parseText, parseTexts, text } from '../call-fields.ts';
import type { RankingRequest } from '../engine.ts';
import type { GenerateCall, TokenInput } from './protocol.ts';

/**
 * A call as it came over the socket. Our own client sends nothing else; people with curl do.
 * @throws RangeError naming the field and the rule.
 */
export function parseCall(body: unknown): GenerateCall {
  const call = objectOf(body, 'the call');
  text(call['id'], 'id');
  parseOwner(call);
  parseInput(call['input']);
  parseSampling(objectOf(call['sampling'], 'sampling'));
  const stop = objectOf(call['stop'], 'stop');
  for (const [at, each] of listOf(stop['strings'], 'stop.strings').entries()) {
    text(each, `stop.strings[${at}]`);
    if (each === '') throw new RangeError(`stop.strings[${at}] must not be empty`);
  }
  for (const [at, each] of listOf(stop['tokens'], 'stop.tokens').entries()) tokens(each, `stop.tokens[${at}]`);
  for (const [at, each] of listOf(stop['special'] ?? [], 'stop.special').entries()) text(each, `stop.special[${at}]`);
  whole(call['choices'], 'choices', 1);
  if (call['maxTokens'] !== undefined) whole(call['maxTokens'], 'maxTokens', 1);
  if (call['maxTotalTokens'] !== undefined) whole(call['maxTotalTokens'], 'maxTotalTokens', 1);
  if (call['logprobs'] !== undefined) whole(objectOf(call['logprobs'], 'logprobs')['top'], 'logprobs.top', 0);
  for (const [at, each] of listOf(call['markers'] ?? [], 'markers').entries()) text(each, `markers[${at}]`);
  parsePhases(listOf(call['phases'], 'phases'));
  return body as GenerateCall;
}

/** @throws RangeError as `parseCall`. */
export function parseInput(value: unknown): TokenInput {
  const input = objectOf(value, 'input');
  if (input['type'] === 'tokens') tokens(input['tokens'], 'input.tokens');
  else if (input['type'] === 'segments') segments(input['segments'], 'input.segments');
  else throw new RangeError('input.type must be segments or tokens');
  return value as TokenInput;
}

/** @throws RangeError as `parseCall`. */
export function parseRankingRequest(body: unknown): RankingRequest {
  const request = objectOf(body, 'the call');
  text(request['id'], 'id');
  parseOwner(request);
  parseText(request['query'], 'query');
  parseTexts(request['documents'], 'documents');
  return body as RankingRequest;
}

function parseSampling(sampling: Readonly<Record<string, unknown>>): void {
  for (const name of ['temperature', 'topP', 'topK', 'minP', 'repetitionPenalty'] as const)
    if (sampling[name] !== undefined) number(sampling[name], `sampling.${name}`, 0);
  for (const name of ['presencePenalty', 'frequencyPenalty'] as const)
    if (sampling[name] !== undefined) number(sampling[name], `sampling.${name}`, -Infinity);
  if (sampling['seed'] !== undefined) whole(sampling['seed'], 'sampling.seed', 0);
  for (const [at, each] of listOf(sampling['logitBias'] ?? [], 'sampling.logitBias').entries()) {
    const [token, bias] = listOf(each, `sampling.logitBias[${at}]`);
    whole(token, `sampling.logitBias[${at}][0]`, 0);
    number(bias, `sampling.logitBias[${at}][1]`, -Infinity);
  }
}

function parsePhases(phases: readonly unknown[]): void {
  if (phases.length > PHASES_MAX) throw new RangeError(`phases must be at most ${PHASES_MAX}, got ${phases.length}`);
  let triggers = 0;
  for (const [at, each] of phases.entries()) triggers += parsePhase(each, `phases[${at}]`, phases.length);
  if (triggers > TRIGGERS_MAX) throw new RangeError(`triggers must be at most ${TRIGGERS_MAX}, got ${triggers}`);
}

/** @returns how many triggers it has. */
function parsePhase(value: unknown, at: string, phases: number): number {
  const phase = objectOf(value, at);
  const kind = phase['kind'];
  if (kind !== 'thought' && kind !== 'answer' && kind !== 'call')
    throw new RangeError(`${at}.kind must be thought, answer or call`);
  if (phase['until'] !== undefined) {
    const until = objectOf(phase['until'], `${at}.until`);
    if (until['text'] !== undefined) text(until['text'], `${at}.until.text`);
    if (until['text'] === '') throw new RangeError(`${at}.until.text must not be empty`);
    if (until['tokens'] !== undefined) whole(until['tokens'], `${at}.until.tokens`, 1);
  }
  if (phase['thenAppend'] !== undefined) segments(phase['thenAppend'], `${at}.thenAppend`);
  if (phase['grammar'] !== undefined) parseGrammar(phase['grammar'], `${at}.grammar`);
  if (phase['next'] !== undefined) position(phase['next'], `${at}.next`, phases);
  const triggers = listOf(phase['triggers'] ?? [], `${at}.triggers`);
  for (const [index, each] of triggers.entries()) parseTrigger(each, `${at}.triggers[${index}]`, phases);
  return triggers.length;
}

function parseTrigger(value: unknown, at: string, phases: number): void {
  const trigger = objectOf(value, at);
  position(trigger['phase'], `${at}.phase`, phases);
  text(trigger['pattern'], `${at}.pattern`);
  try {
    compileTrigger(String(trigger['pattern']));
  } catch {
    throw new RangeError(`${at}.pattern must be a regular expression`);
  }
}

/** Schemas themselves are the compiler's affair. */
function parseGrammar(value: unknown, at: string): void {
  const grammar = objectOf(value, at);
  switch (grammar['type']) {
    case 'text':
      return text(grammar['text'], `${at}.text`);
    case 'without':
      return text(grammar['characters'], `${at}.characters`);
    case 'schema':
      if (typeof grammar['schema'] !== 'boolean') objectOf(grammar['schema'], `${at}.schema`);
      return text(grammar['field'], `${at}.field`);
    case 'sequence':
      for (const [index, part] of listOf(grammar['parts'], `${at}.parts`).entries())
        parseGrammar(part, `${at}.parts[${index}]`);
      return;
    case 'choice':
      for (const [index, option] of listOf(grammar['options'], `${at}.options`).entries())
        parseGrammar(option, `${at}.options[${index}]`);
      return;
    default:
      throw new RangeError(`${at}.type must be text, schema, sequence, choice or without`);
  }
}

function position(value: unknown, at: string, count: number): void {
  whole(value, at, 0);
  if (Number(value) >= count)
    throw new RangeError(`${at} must be the position of one of ${count} phases, got ${String(value)}`);
}

function segments(value: unknown, at: string): void {
  for (const [index, each] of listOf(value, at).entries()) {
    const segment = objectOf(each, `${at}[${index}]`);
    text(segment['text'], `${at}[${index}].text`);
    if (typeof segment['special'] !== 'boolean') throw new RangeError(`${at}[${index}].special must be true or false`);
    if (segment['cacheMark'] !== undefined && segment['cacheMark'] !== true)
      throw new RangeError(`${at}[${index}].cacheMark must be true where it is there`);
  }
}

function tokens(value: unknown, at: string): void {
  for (const [index, each] of listOf(value, at).entries()) whole(each, `${at}[${index}]`, 0);
}

function number(value: unknown, at: string, min: number): void {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < min)
    throw new RangeError(`${at} must be a number${min === -Infinity ? '' : ` from ${min}`}`);
}

function whole(value: unknown, at: string, min: number): void {
  if (!Number.isInteger(value) || Number(value) < min) throw new RangeError(`${at} must be a whole number from ${min}`);
}
