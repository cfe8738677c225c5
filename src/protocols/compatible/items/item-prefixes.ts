/** Prefixes of item ids by item type, as official clients expect them. */
const PREFIXES = new Map([
  ['message', 'msg_'],
  ['function_call', 'fc_'],
  ['function_call_output', 'fco_'],
  ['reasoning', 'rs_'],
  ['web_search_call', 'ws_'],
  ['web_extractor_call', 'we_'],
  ['file_search_call', 'fs_'],
  ['code_interpreter_call', 'ci_'],
  ['mcp_call', 'mcp_'],
  ['compaction', 'cmp_'],
]);

export const getItemPrefix = (type: string): string => PREFIXES.get(type) ?? 'item_';
