import type { Tool } from '../../core/message.ts';
import type { GenerationRequest } from '../../core/request.ts';
import { createCodeTool, addCodeTool } from './code-tool.ts';

/** Creates the request of a model run: without server tools, and with the code tool if programs may be called. */
export const toModelRequest = (request: GenerationRequest, tool: Tool | undefined): GenerationRequest => {
  const { serverTools: _, ...plain } = request;
  const toolUse = tool && addCodeTool(request.toolUse, tool);
  return toolUse ? { ...plain, toolUse } : plain;
};

/** Names of server tools that the caller's own tools exclude. */
export const findIgnoredServerTools = ({ serverTools, toolUse }: GenerationRequest): readonly string[] =>
  serverTools?.code && !addCodeTool(toolUse, createCodeTool(toolUse?.tools ?? [])) ? ['enable_code_interpreter'] : [];
