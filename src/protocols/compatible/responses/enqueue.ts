import type { RequestContext } from '../../../core/context.ts';
import { unixSeconds } from '../../../lib/clock.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { BackgroundResponses } from '../../../resources/responses/background.ts';
import { json, stream } from '../../endpoint.ts';
import type { Reply } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import type { Asked } from './asked-turn.ts';
import { droppedHeader } from './dropped-header.ts';
import { encodeQueued } from './encode.ts';
import { askedFields, withoutSecrets } from './head.ts';
import { stateEvent } from './state-event.ts';
import { tailStream } from './tail-stream.ts';

interface Needs {
  readonly background: Pick<BackgroundResponses, 'look' | 'enqueue' | 'tail'>;
  readonly clock: Clock;
}

interface Waiting {
  readonly id: string;
  readonly asked: Asked;
  readonly body: unknown;
}

/**
 * A response that is made while nobody waits: everything is checked that a live one is refused for, short of asking an engine.
 * @throws ServiceError as a live one.
 */
export async function enqueue(
  { id, asked, body }: Waiting,
  { background, clock }: Needs,
  { owner, log }: RequestContext,
): Promise<Reply> {
  log.add({ response: id });
  const { wire, entry, wish } = asked;
  const before = await background.look(owner, wish);
  const { ignored } = await asked.goOn(before);
  const head = { id, created: unixSeconds(clock.now()), model: wire.model, asked: askedFields(wire, entry) };
  const response = encodeQueued(head);
  const isStreamed = wire.stream === true;
  const events = ['response.created', 'response.queued'].map((type, sequence) =>
    stateEvent(type, JSON.stringify(response), sequence),
  );
  await background.enqueue(owner, {
    id,
    ...wish,
    body: bodyToKeep(body, asked),
    json: JSON.stringify(response),
    events: isStreamed ? events : undefined,
  });
  const headers = { ...ignoredHeader(ignored([])), ...droppedHeader(before.olderItems) };
  if (!isStreamed) return json(response, headers);
  return stream(await background.tail(owner, id, ALL), tailStream(ALL), headers);
}

/** Behind no event. */
const ALL = -1;

/** What opens the servers of its tools is not kept, and not needed: they are not asked. */
function bodyToKeep(body: unknown, { wire: { tools } }: Asked): string {
  return JSON.stringify(tools ? { ...Object(body), tools: tools.map(withoutSecrets) } : body);
}
