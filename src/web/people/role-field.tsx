interface RoleFieldProps {
  /** Of the field, for the page has others. */
  readonly id: string;
  readonly roles: readonly string[];
  readonly hint: string;
}

/** A labelled choice of a role for somebody, or something, new. */
export function RoleField({ id, roles, hint }: RoleFieldProps) {
  return (
    <p class="field">
      <label htmlFor={id}>Role</label>
      <select id={id} name="role" aria-describedby={`hint-${id}`}>
        {roles.map((role) => (
          <option key={role} value={role}>
            {role}
          </option>
        ))}
      </select>
      <small id={`hint-${id}`} class="hint">
        {hint}
      </small>
    </p>
  );
}
