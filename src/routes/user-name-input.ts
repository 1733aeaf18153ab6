// A user name as routes take it.
import { FormatRegistry, Type } from '@sinclair/typebox';
import { LONGEST_USER_NAME, userNameFault } from '../records/user-name.ts';

FormatRegistry.Set('user-name', (name) => userNameFault(name) === undefined);

export const UserName = Type.String({
  format: 'user-name',
  minLength: 1,
  description: `The user name: 1 to ${LONGEST_USER_NAME} characters; letter case does not matter.`,
});
