import type { ModelEntry } from '../../../catalogue/model.ts';
import type { Message } from '../../../core/message.ts';
import type { ReportSize, ResearchRequest } from '../research.ts';
import { removeInvisibleCharacters } from '../../../lib/remove-invisible-characters.ts';
import type { WireMessage } from '../../../protocols/fields/message-schema.ts';
import { CONTENT_NOT_STRING } from '../../../protocols/fields/parameter-texts.ts';
import { checkMessages } from '../../../protocols/fields/message-rules.ts';
import { createFieldError } from '../../../protocols/parse.ts';
import { decodeConversation } from '../../../protocols/native/generation/decode-conversation.ts';
import { toNativePath } from '../../../protocols/native/generation/to-native-path.ts';
import type { ResearchWire, ReportFormatWire } from './schema.ts';

/**
 * Converts a deep research request.
 *
 * @param model Model name in the request.
 * @throws ServiceError `invalid-request` naming the field.
 */
export function decodeResearch(model: string, wire: ResearchWire, entry: ModelEntry): ResearchRequest {
  const reportSize = decodeReportSize(wire);
  const messages = decodeConversation(wire.input ?? {}, entry);
  checkMessages(messages, toNativePath);
  const decoded = messages.map((message, index) => decodeMessage(message, toNativePath(`messages[${index}]`)));
  checkRoleOrder(decoded);
  return { model, messages: decoded, reportSize };
}

const REPORT_SIZE: Record<ReportFormatWire, ReportSize> = {
  model_detailed_report: 'detailed',
  model_summary_report: 'summary',
};

function decodeReportSize({ output_format: topLevel, parameters }: ResearchWire): ReportSize {
  const nested = parameters?.output_format;
  if (topLevel && nested && topLevel !== nested)
    throw createFieldError(
      'parameters.output_format',
      `must equal the top-level output_format, which is ${JSON.stringify(topLevel)}`,
      nested,
    );
  return REPORT_SIZE[topLevel ?? nested ?? 'model_detailed_report'];
}

/** Converts a message; only its role and text are used. @throws ServiceError for other roles and empty texts. */
function decodeMessage({ role, content }: WireMessage, path: string): Message {
  if (role !== 'user' && role !== 'assistant') throw createFieldError(`${path}.role`, ROLES_RULE, role);
  const text = decodeText(content, path).toWellFormed();
  if (removeInvisibleCharacters(text).trim() === '') throw createFieldError(`${path}.content`, EMPTY_MESSAGE_RULE);
  return { role, content: [{ type: 'text', text }] };
}

function decodeText(content: WireMessage['content'], path: string): string {
  if (typeof content === 'string') return content;
  const texts = (content ?? []).map((part, index) => {
    if (part.type === 'text') return part.text;
    throw createFieldError(`${path}.content[${index}]`, CONTENT_NOT_STRING);
  });
  return texts.join('');
}

/** Checks the roles: one user message, or user and assistant in alternation, ending with a user message. */
function checkRoleOrder(messages: readonly Message[]): void {
  for (const [index, { role }] of messages.entries())
    if (role !== (index % 2 === 0 ? 'user' : 'assistant'))
      throw createFieldError(toNativePath(`messages[${index}].role`), ROLE_ORDER_RULE, role);
  if (messages.length % 2 === 0)
    throw createFieldError(toNativePath('messages'), `${ROLE_ORDER_RULE}; the last message has the role assistant`);
}

const ROLES_RULE = 'A deep research model accepts only messages with the role user or assistant';

/** Vendor text (docs/wire/dashscope-native.md#errors). */
const EMPTY_MESSAGE_RULE = 'Role must be user or assistant and Content length must be greater than 0';

const ROLE_ORDER_RULE =
  'A deep research model accepts one user message, or alternating user and assistant messages that start and end with a user message';
