// An exercise: questions about the scenario, whose answers are checked here, with the record of a run where it takes one.

const makeExercise = (box) => {
  let goals = [];
  const makeQuestion = (question) => {
    const verdict = make("output", { className: "verdict" });
    const judge = (isRight, text) => {
      verdict.className = isRight ? "verdict right" : "verdict";
      verdict.textContent = isRight ? `✓ ${text} ${question.because}` : text;
    };
    if (question.goal) {
      goals.push({ question, judge });
      return make("li", {}, make("p", {}, question.text), verdict);
    }
    const input = make("input", { inputMode: "decimal", autocomplete: "off", ariaLabel: "Answer" });
    const form = make("form", { className: "row" }, input, make("button", { type: "submit" }, "Check"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const given = Number(input.value.replace(",", ".").replaceAll(" ", ""));
      if (!input.value.trim() || !Number.isFinite(given)) judge(false, "A number, please.");
      else if (Math.abs(given / question.answer - 1) <= question.within) judge(true, "Right.");
      else judge(false, given < question.answer ? "More than that." : "Less than that.");
    });
    return make("li", {}, make("p", {}, question.text), form, verdict);
  };
  const shown = ({ scale, unit }, value) => `${Number((value * scale).toPrecision(3))} ${unit}`;
  const outcome = (goal, { flows }) => {
    const value = flows[goal.column][flows.flow.indexOf(goal.flow)] ?? NaN;
    const holds = value * goal.scale <= (goal.most ?? Infinity) && value * goal.scale >= (goal.least ?? -Infinity);
    const wanted = goal.most === undefined ? `at least ${goal.least}` : `at most ${goal.most}`;
    return { holds, text: `${goal.label}: ${shown(goal, value)} (${wanted} ${goal.unit}).` };
  };
  return {
    show: (exercise) => {
      goals = [];
      box.hidden = !exercise;
      box.replaceChildren();
      if (!exercise) return;
      box.append(make("h2", {}, `Exercise: ${exercise.title}`), make("p", {}, exercise.text), make("ol", {}, ...exercise.question.map(makeQuestion)));
    },
    // Judges a run of that text by its record.
    judge: (text, record) => {
      if (!goals.length) return;
      const { tables } = JSON.parse(new TextDecoder().decode(record));
      for (const { question, judge } of goals) {
        const changed = question.keep.find((line) => !text.includes(line)) ?? question.never?.find((line) => text.includes(line));
        const outcomes = changed ? [] : question.goal.map((goal) => outcome(goal, tables));
        const texts = outcomes.map((each) => each.text).join(" ");
        if (changed) judge(false, question.never?.includes(changed) ? `Without ${changed}.` : `The question is about ${changed}.`);
        else judge(outcomes.every((each) => each.holds), texts);
      }
    },
  };
};
