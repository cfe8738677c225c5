import { PHASES_MAX, TRIGGERS_MAX } from './limits.ts';
import { compileTrigger } from '../trigger-matcher.ts';
import { parseArray, parseObject, checkOwner, checkTextInput, checkTextInputs, checkString } from '../field-checks.ts';
import type { EngineOwner, RankingRequest } from '../engine.ts';
import type { GenerateCall, TokenInput } from './protocol.ts';

/**
 * Validates a request from the socket. Parley's own client sends only valid requests; people with curl may not.
 * @throws RangeError naming the field and the rule.
 */
export function parseGenerateCall(body: unknown): GenerateCall {
  const call = parseObject(body, 'the call');
  checkString(call['id'], 'id');
  checkOwner(call);
  parseInput(call['input']);
  checkSampling(parseObject(call['sampling'], 'sampling'));
  const stop = parseObject(call['stop'], 'stop');
  for (const [at, each] of parseArray(stop['strings'], 'stop.strings').entries()) {
    checkString(each, `stop.strings[${at}]`);
    if (each === '') throw new RangeError(`stop.strings[${at}] must not be empty`);
  }
  for (const [at, each] of parseArray(stop['tokens'], 'stop.tokens').entries()) checkTokens(each, `stop.tokens[${at}]`);
  for (const [at, each] of parseArray(stop['special'] ?? [], 'stop.special').entries())
    checkString(each, `stop.special[${at}]`);
  checkWholeNumber(call['choices'], 'choices', 1);
  if (call['maxTokens'] !== undefined) checkWholeNumber(call['maxTokens'], 'maxTokens', 0);
  if (call['maxTotalTokens'] !== undefined) checkWholeNumber(call['maxTotalTokens'], 'maxTotalTokens', 1);
  for (const name of ['logprobs', 'promptLogprobs'])
    if (call[name] !== undefined) checkWholeNumber(parseObject(call[name], name)['top'], `${name}.top`, 0);
  for (const [at, each] of parseArray(call['markers'] ?? [], 'markers').entries()) checkString(each, `markers[${at}]`);
  checkPhases(parseArray(call['phases'], 'phases'));
  return body as GenerateCall;
}

/** Owner of texts that Parley itself tokenizes. */
const NO_OWNER: EngineOwner = { workspace: '', key: '' };

/** @throws RangeError as `parseGenerateCall`. */
export function parseTokenizeCall(body: unknown): { readonly input: TokenInput; readonly owner: EngineOwner } {
  const call = parseObject(body, 'the call');
  const input = parseInput(call['input']);
  if (call['owner'] === undefined) return { input, owner: NO_OWNER };
  checkOwner(call);
  return { input, owner: call['owner'] as EngineOwner };
}

function parseInput(value: unknown): TokenInput {
  const input = parseObject(value, 'input');
  if (input['type'] === 'tokens') checkTokens(input['tokens'], 'input.tokens');
  else if (input['type'] === 'segments') checkSegments(input['segments'], 'input.segments');
  else throw new RangeError('input.type must be segments or tokens');
  return value as TokenInput;
}

/** @throws RangeError as `parseGenerateCall`. */
export function parseRankingRequest(body: unknown): RankingRequest {
  const request = parseObject(body, 'the call');
  checkString(request['id'], 'id');
  checkOwner(request);
  checkTextInput(request['query'], 'query');
  checkTextInputs(request['documents'], 'documents');
  return body as RankingRequest;
}

function checkSampling(sampling: Readonly<Record<string, unknown>>): void {
  for (const name of ['temperature', 'topP', 'topK', 'minP', 'repetitionPenalty'] as const)
    if (sampling[name] !== undefined) checkNumber(sampling[name], `sampling.${name}`, 0);
  for (const name of ['presencePenalty', 'frequencyPenalty'] as const)
    if (sampling[name] !== undefined) checkNumber(sampling[name], `sampling.${name}`, -Infinity);
  if (sampling['seed'] !== undefined) checkWholeNumber(sampling['seed'], 'sampling.seed', 0);
  for (const [at, each] of parseArray(sampling['logitBias'] ?? [], 'sampling.logitBias').entries()) {
    const [token, bias] = parseArray(each, `sampling.logitBias[${at}]`);
    checkWholeNumber(token, `sampling.logitBias[${at}][0]`, 0);
    checkNumber(bias, `sampling.logitBias[${at}][1]`, -Infinity);
  }
}

function checkPhases(phases: readonly unknown[]): void {
  if (phases.length > PHASES_MAX) throw new RangeError(`phases must be at most ${PHASES_MAX}, got ${phases.length}`);
  let triggers = 0;
  for (const [at, each] of phases.entries()) triggers += checkPhase(each, `phases[${at}]`, phases.length);
  if (triggers > TRIGGERS_MAX) throw new RangeError(`triggers must be at most ${TRIGGERS_MAX}, got ${triggers}`);
}

/** @returns the number of triggers of the phase. */
function checkPhase(value: unknown, path: string, phases: number): number {
  const phase = parseObject(value, path);
  const kind = phase['kind'];
  if (kind !== 'thought' && kind !== 'answer' && kind !== 'call')
    throw new RangeError(`${path}.kind must be thought, answer or call`);
  if (phase['until'] !== undefined) {
    const until = parseObject(phase['until'], `${path}.until`);
    if (until['text'] !== undefined) checkString(until['text'], `${path}.until.text`);
    if (until['text'] === '') throw new RangeError(`${path}.until.text must not be empty`);
    if (until['tokens'] !== undefined) checkWholeNumber(until['tokens'], `${path}.until.tokens`, 1);
  }
  if (phase['appendOnEnd'] !== undefined) checkSegments(phase['appendOnEnd'], `${path}.appendOnEnd`);
  if (phase['grammar'] !== undefined) checkGrammar(phase['grammar'], `${path}.grammar`);
  if (phase['nextPhase'] !== undefined) checkPhasePosition(phase['nextPhase'], `${path}.nextPhase`, phases);
  const triggers = parseArray(phase['triggers'] ?? [], `${path}.triggers`);
  for (const [index, each] of triggers.entries()) checkTrigger(each, `${path}.triggers[${index}]`, phases);
  return triggers.length;
}

function checkTrigger(value: unknown, path: string, phases: number): void {
  const trigger = parseObject(value, path);
  checkPhasePosition(trigger['phase'], `${path}.phase`, phases);
  checkString(trigger['pattern'], `${path}.pattern`);
  try {
    compileTrigger(String(trigger['pattern']));
  } catch {
    throw new RangeError(`${path}.pattern must be a regular expression`);
  }
}

/** Checks the structure of a grammar; the grammar compiler checks the schemas in it. */
function checkGrammar(value: unknown, path: string): void {
  const grammar = parseObject(value, path);
  switch (grammar['type']) {
    case 'text':
    case 'without-text':
      return checkString(grammar['text'], `${path}.text`);
    case 'without':
      return checkString(grammar['characters'], `${path}.characters`);
    case 'schema':
      if (typeof grammar['schema'] !== 'boolean') parseObject(grammar['schema'], `${path}.schema`);
      return checkString(grammar['field'], `${path}.field`);
    case 'sequence':
      for (const [index, part] of parseArray(grammar['parts'], `${path}.parts`).entries())
        checkGrammar(part, `${path}.parts[${index}]`);
      return;
    case 'choice':
      for (const [index, option] of parseArray(grammar['options'], `${path}.options`).entries())
        checkGrammar(option, `${path}.options[${index}]`);
      return;
    default:
      throw new RangeError(`${path}.type must be text, schema, sequence, choice, without or without-text`);
  }
}

function checkPhasePosition(value: unknown, path: string, count: number): void {
  checkWholeNumber(value, path, 0);
  if (Number(value) >= count)
    throw new RangeError(`${path} must be the position of one of ${count} phases, got ${String(value)}`);
}

function checkSegments(value: unknown, path: string): void {
  for (const [index, each] of parseArray(value, path).entries()) {
    const segment = parseObject(each, `${path}[${index}]`);
    checkString(segment['text'], `${path}[${index}].text`);
    if (typeof segment['special'] !== 'boolean')
      throw new RangeError(`${path}[${index}].special must be true or false`);
    if (segment['cacheMark'] !== undefined && segment['cacheMark'] !== true)
      throw new RangeError(`${path}[${index}].cacheMark must be true if it is present`);
  }
}

function checkTokens(value: unknown, path: string): void {
  for (const [index, each] of parseArray(value, path).entries()) checkWholeNumber(each, `${path}[${index}]`, 0);
}

function checkNumber(value: unknown, path: string, min: number): void {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < min)
    throw new RangeError(`${path} must be a number${min === -Infinity ? '' : ` from ${min}`}`);
}

function checkWholeNumber(value: unknown, path: string, min: number): void {
  if (!Number.isInteger(value) || Number(value) < min)
    throw new RangeError(`${path} must be a whole number from ${min}`);
}
