import type { GenerateCall, TokenInput } from './protocol.ts';

/**
 * A call as it came over the socket. Our own client sends nothing else; people with curl do.
 * @throws RangeError naming the field and the rule.
 */
export function parseCall(body: unknown): GenerateCall {
  const call = objectOf(body, 'the call');
  const owner = objectOf(call['owner'], 'owner');
  text(call['id'], 'id');
  text(owner['workspace'], 'owner.workspace');
  text(owner['key'], 'owner.key');
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
  for (const [at, each] of listOf(call['phases'], 'phases').entries()) parsePhase(each, `phases[${at}]`);
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

function parsePhase(value: unknown, at: string): void {
  const phase = objectOf(value, at);
  if (phase['until'] !== undefined) {
    const until = objectOf(phase['until'], `${at}.until`);
    if (until['text'] !== undefined) text(until['text'], `${at}.until.text`);
    if (until['tokens'] !== undefined) whole(until['tokens'], `${at}.until.tokens`, 1);
  }
  if (phase['thenAppend'] !== undefined) segments(phase['thenAppend'], `${at}.thenAppend`);
  if (phase['grammar'] !== undefined) text(phase['grammar'], `${at}.grammar`);
}

function segments(value: unknown, at: string): void {
  for (const [index, each] of listOf(value, at).entries()) {
    const segment = objectOf(each, `${at}[${index}]`);
    text(segment['text'], `${at}[${index}].text`);
    if (typeof segment['special'] !== 'boolean') throw new RangeError(`${at}[${index}].special must be true or false`);
  }
}

function tokens(value: unknown, at: string): void {
  for (const [index, each] of listOf(value, at).entries()) whole(each, `${at}[${index}]`, 0);
}

function objectOf(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new RangeError(`${at} must be an object`);
  return value as Readonly<Record<string, unknown>>;
}

function listOf(value: unknown, at: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new RangeError(`${at} must be an array`);
  return value;
}

function text(value: unknown, at: string): void {
  if (typeof value !== 'string') throw new RangeError(`${at} must be a string`);
}

function number(value: unknown, at: string, min: number): void {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < min)
    throw new RangeError(`${at} must be a number${min === -Infinity ? '' : ` from ${min}`}`);
}

function whole(value: unknown, at: string, min: number): void {
  if (!Number.isInteger(value) || Number(value) < min) throw new RangeError(`${at} must be a whole number from ${min}`);
}
