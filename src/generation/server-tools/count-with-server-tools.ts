import type { CountPrompt } from '../count-prompt.ts';
import { createCodeTool } from './code-tool.ts';
import { toModelRequest, findIgnoredServerTools } from './model-request.ts';

/**
 * Wraps `countPrompt` for requests with server tools: counts the prompt with the code tool and without search results.
 */
export const createCountWithServerTools =
  (countPrompt: CountPrompt): CountPrompt =>
  async (request, on, context) => {
    if (!request.serverTools) return await countPrompt(request, on, context);
    const tool = request.serverTools.code ? createCodeTool(request.toolUse?.tools ?? []) : undefined;
    const { ignored, ...count } = await countPrompt(toModelRequest(request, tool), on, context);
    return { ...count, ignored: [...ignored, ...findIgnoredServerTools(request)] };
  };
