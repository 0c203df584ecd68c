"""Random programs on symbolic sizes: recipes, and what they build.

In: a `Recipe`, which is plain numbers. Out: a `Case`: a `?` program, bounds for its sizes, and for each result how far
two evaluations may differ. A number in a recipe chooses among what is possible at its place, so that any recipe is a
program, and a recipe with a step less or with smaller numbers is one too: that is how failures are made small.

How far evaluations may differ is computed, not guessed. Of each value an interval is known that holds its finite
elements, and either that its elements are multiples of `2**-grid`, few enough that no sum of them is rounded, or a
bound of what rounding has done to it. Ops that jump (comparisons, floor, argmax, conversion to integers, indices) see
values of the first kind only.
"""

# Each kind of step registers itself, and a seed's program depends on the order of the kinds.
from . import elementwise, shapes, reductions, indices, control  # noqa: F401, I001
from .building import arrays_of, build, explain, random_recipe, shrink, sizes_of
from .recipes import Case, Recipe

__all__ = ["Case", "Recipe", "arrays_of", "build", "explain", "random_recipe", "shrink", "sizes_of"]
