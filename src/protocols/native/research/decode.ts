import type { ModelEntry } from '../../../catalogue/model.ts';
import type { Message } from '../../../core/message.ts';
import type { ReportSize, ResearchRequest } from '../../../core/research.ts';
import { visibleText } from '../../../lib/visible-text.ts';
import type { WireMessage } from '../../fields/message-schema.ts';
import { CONTENT } from '../../fields/texts.ts';
import { checkMessages } from '../../fields/message-rules.ts';
import { refuse } from '../../parse.ts';
import { conversation } from '../generation/conversation.ts';
import { place } from '../generation/place.ts';
import type { ResearchWire, WireOutputFormat } from './schema.ts';

/**
 * What is to be looked into.
 *
 * @param model As the caller wrote it.
 * @throws ServiceError `invalid-request` naming the field.
 */
export function decodeResearch(model: string, wire: ResearchWire, entry: ModelEntry): ResearchRequest {
  const reportSize = reportSizeOf(wire);
  const messages = conversation(wire.input ?? {}, entry);
  checkMessages(messages, place);
  const turns = messages.map((message, index) => toTurn(message, place(`messages[${index}]`)));
  checkTurns(turns);
  return { model, messages: turns, reportSize };
}

const REPORT_SIZE: Record<WireOutputFormat, ReportSize> = {
  model_detailed_report: 'detailed',
  model_summary_report: 'summary',
};

function reportSizeOf({ output_format: atTop, parameters }: ResearchWire): ReportSize {
  const within = parameters?.output_format;
  if (atTop && within && atTop !== within)
    throw refuse(
      'parameters.output_format',
      `output_format is ${JSON.stringify(atTop)} at the top of the body`,
      within,
    );
  return REPORT_SIZE[atTop ?? within ?? 'model_detailed_report'];
}

/** What was said, and nothing besides: no name, no call, no thought. */
function toTurn({ role, content }: WireMessage, at: string): Message {
  if (role !== 'user' && role !== 'assistant') throw refuse(`${at}.role`, ROLES, role);
  const text = textOf(content, at).toWellFormed();
  if (visibleText(text).trim() === '') throw refuse(`${at}.content`, EMPTY);
  return { role, content: [{ type: 'text', text }] };
}

function textOf(content: WireMessage['content'], at: string): string {
  if (typeof content === 'string') return content;
  const texts = (content ?? []).map((part, index) => {
    if (part.type === 'text') return part.text;
    throw refuse(`${at}.content[${index}]`, CONTENT);
  });
  return texts.join('');
}

/** wire.md E4.1: one message of the user's, or user and assistant in turns, the last one the user's. */
function checkTurns(messages: readonly Message[]): void {
  for (const [index, { role }] of messages.entries())
    if (role !== (index % 2 === 0 ? 'user' : 'assistant')) throw refuse(place(`messages[${index}].role`), TURNS, role);
  if (messages.length % 2 === 0) throw refuse(place('messages'), `${TURNS}: the last one is the assistant's`);
}

const ROLES = 'A deep research model takes messages of the roles user and assistant only';

/** wire.md 1.7. */
const EMPTY = 'Role must be user or assistant and Content length must be greater than 0';

const TURNS =
  'A deep research model takes one user message, or user and assistant messages in turns that begin and end with a user message';
