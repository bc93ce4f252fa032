"""The weights of places."""

from luce.compiled import compiled


@compiled
def of_list(place_weights, place_starts, q):
    """The weights of the places of list q."""
    return place_weights[place_starts[q] :] if place_starts.size else place_weights


@compiled
def weights_of_places(order, halving, place_weights, item_weights, weight):
    """The weight of each place: its own times that of the item there."""
    if halving:
        power, last = 1.0, 2.0 ** (1.0 - len(order))
        for j in range(len(weight)):
            weight[j] = (power - last) / (1.0 - last)
            power *= 0.5
    elif place_weights.size:
        for j in range(len(weight)):
            weight[j] = place_weights[j] if j < place_weights.size else 0.0
    else:
        weight[:] = 1.0
    if item_weights.size:
        for j in range(len(weight)):
            weight[j] *= item_weights[order[j]]
