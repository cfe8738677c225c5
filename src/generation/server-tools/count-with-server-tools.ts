import type { CountPrompt } from '../count-prompt.ts';
import { codeTool } from './code-tool.ts';
import { offering, unofferedIn } from './offered-request.ts';

/** The same count for requests that let the model use something here, before anything is found: with the tool that runs programs. */
export const createCountWithServerTools =
  (countPrompt: CountPrompt): CountPrompt =>
  async (request, on, context) => {
    if (!request.serverTools) return await countPrompt(request, on, context);
    const tool = request.serverTools.code ? codeTool(request.toolUse?.tools ?? []) : undefined;
    const { tokens, ignored } = await countPrompt(offering(request, tool), on, context);
    return { tokens, ignored: [...ignored, ...unofferedIn(request)] };
  };
